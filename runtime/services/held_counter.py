"""The counter at which the bot stands with what people say of held steps."""

from dataclasses import dataclass

from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.actor import Person
from runtime.model.json_limits import error_text
from runtime.model.run import FoundStep
from runtime.model.run_payloads import MendPayload
from runtime.model.states import EFFECT, StepStatus, is_final
from runtime.services.held_model import HeldView, HeldWaiting, HeldWish, Question
from runtime.services.recording import record_said
from runtime.store.held_steps import count_held, find_step, list_held
from runtime.store.messages import find_posted


@dataclass(frozen=True)
class HeldCounter:
    """The counter of one tenant, over the engine."""

    engine: Engine
    tenant: str

    async def view(self, run_id: str, step: str) -> HeldView | None:
        """Return a step as it is now, None where it is not held."""
        async with self.engine.pool.connection() as conn:
            found = await find_step(conn, self.tenant, run_id, step)
        if found is None or found.status is not StepStatus.HELD:
            return None
        return _view(found)

    async def waiting(self, person: Person, limit: int) -> HeldWaiting:
        """Return the held steps for a person: none unless they are one of those who are told of them."""
        if set(person.groups).isdisjoint(self.engine.routing.doubt_groups):
            return HeldWaiting(0, ())
        async with self.engine.pool.connection() as conn:
            found = await list_held(conn, self.tenant, limit)
            total = len(found) if len(found) < limit else await count_held(conn, self.tenant)
        return HeldWaiting(total, tuple(_view(step) for step in found))

    async def question(self, effect_id: str) -> Question:
        """Return where a message that asks about a held step stands; the effect is what posts it."""
        async with self.engine.pool.connection() as conn:
            posted = await find_posted(conn, self.tenant, effect_id)
        if posted is None:
            return Question(None, may_come=False)
        answer = posted.answer or {}
        place = (answer["channel"], answer["ts"]) if {"channel", "ts"} <= answer.keys() else None
        return Question(place, may_come=not is_final(EFFECT, posted.status))

    async def record(self, wish: HeldWish) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        payload = MendPayload(
            run_id=wish.run_id,
            step=wish.step,
            act=wish.act,
            result=wish.result,
            reason=error_text(wish.reason),
            version=wish.version,
            submitted_by=wish.person_id,
        )
        return await record_said(
            self.engine,
            self.tenant,
            payload,
            by=wish.person_id,
            about=wish.run_id,
            key=f"mend:{wish.dedupe_key}",
            request_id=wish.request_id,
        )

    async def apply(self, notification_id: str) -> str:
        """Apply a recorded wish, at most once; return why nothing was done, "" where it was."""
        facts = await inbox.apply(self.engine, notification_id)
        return "" if facts["status"] == "applied" else str(facts["reason"])


def _view(found: FoundStep) -> HeldView:
    title = f"{found.title} ({found.trigger_ref})"
    return HeldView(found.run_id, found.path, found.version, title, found.error, found.error_code)
