"""Steps that stand still until a person decides: shown, and retried, skipped or supplied by people and callers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.commands import RepairStepPayload
from runtime.model.limits import error_text
from runtime.model.notification import dedupe_key_of
from runtime.model.person import Person
from runtime.model.run import FoundStep, RepairAction
from runtime.model.states import EFFECT, StepStatus, is_final
from runtime.services.clicks import record_said
from runtime.store.step_repairs import (
    count_steps_needing_attention,
    find_posted,
    find_step,
    list_steps_needing_attention,
)


@dataclass(frozen=True)
class StepRepairView:
    """A step that needs attention as its modal shows it; `version` is the step's, which the act has to find again."""

    run_id: str
    step: str
    version: int
    run_title: str
    error: str
    code: str


@dataclass(frozen=True)
class StepsNeedingAttention:
    """What waits for operators: how many steps need attention, and those of the newest runs."""

    total: int
    views: tuple[StepRepairView, ...]


@dataclass(frozen=True)
class RepairCommand:
    """How a person repairs a step. `dedupe_key` is equal for deliveries of the same wish."""

    dedupe_key: str
    person_id: str
    run_id: str
    step: str
    act: RepairAction
    version: int
    reason: str
    result: object
    request_id: str


@dataclass(frozen=True)
class Question:
    """A message that asks for a step's repair: where it stands as (channel, ts), or whether it may still be posted."""

    place: tuple[str, str] | None
    may_come: bool


@dataclass(frozen=True)
class StepRepairService:
    """Where people look at steps that need attention and hand in what they say of them, of one tenant."""

    engine: Engine
    tenant: str

    async def view(self, run_id: str, step: str) -> StepRepairView | None:
        """Return a step as it is now, None where it needs no attention."""
        async with self.engine.pool.connection() as conn:
            found = await find_step(conn, self.tenant, run_id, step)
        if found is None or found.status is not StepStatus.NEEDS_ATTENTION:
            return None
        return _view(found)

    async def waiting(self, person: Person, limit: int) -> StepsNeedingAttention:
        """Return the steps that need attention for a person: none unless they are one of those who are told of them."""
        if set(person.groups).isdisjoint(self.engine.routing.doubt_groups):
            return StepsNeedingAttention(0, ())
        async with self.engine.pool.connection() as conn:
            found = await list_steps_needing_attention(conn, self.tenant, limit)
            total = len(found) if len(found) < limit else await count_steps_needing_attention(conn, self.tenant)
        return StepsNeedingAttention(total, tuple(_view(step) for step in found))

    async def question(self, effect_id: str) -> Question:
        """Return where a message that asks for a step's repair stands; the effect is what posts it."""
        async with self.engine.pool.connection() as conn:
            posted = await find_posted(conn, self.tenant, effect_id)
        if posted is None:
            return Question(None, may_come=False)
        answer = posted.answer or {}
        place = (answer["channel"], answer["ts"]) if {"channel", "ts"} <= answer.keys() else None
        return Question(place, may_come=not is_final(EFFECT, posted.status))

    async def record(self, wish: RepairCommand) -> str:
        """Write the wish into the inbox, durably; return the notification's id. Repeats return the first's."""
        payload = RepairStepPayload(
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
            payload,
            by=wish.person_id,
            about=wish.run_id,
            key=f"repair_step:{wish.dedupe_key}",
            request_id=wish.request_id,
        )

    async def apply(self, notification_id: str) -> str:
        """Apply a recorded wish, at most once; return why nothing was done, "" where it was."""
        facts = await inbox.apply(self.engine, notification_id)
        return "" if facts["status"] == "applied" else str(facts["reason"])


def _view(found: FoundStep) -> StepRepairView:
    title = f"{found.title} ({found.trigger_ref})"
    return StepRepairView(found.run_id, found.path, found.version, title, found.error, found.error_code)


@dataclass(frozen=True)
class StepRepairApi:
    """Repairs steps for callers. A run of a type that the caller may not repair is as if it were not there."""

    engine: Engine
    tenant: str

    async def step(self, types: Sequence[str], run_id: str, path: str) -> FoundStep:
        """Return a step of a run of one of these trigger types; raise LookupError."""
        async with self.engine.pool.connection() as conn:
            found = await find_step(conn, self.tenant, run_id, path)
        if found is None or found.trigger_type not in types:
            raise LookupError(f"there is no step {path} of a run {run_id}")
        return found

    async def repair(self, by: Actor, sender_id: str, payload: RepairStepPayload) -> Mapping[str, Any]:
        """Record what a person says and apply it; return the facts of its outcome.

        Sent again under its id, it gets the present outcome. Raise ConflictError where that id was used for something
        else.
        """
        key = dedupe_key_of("repair_step", self.tenant, payload.submitted_by, sender_id)
        _, facts = await inbox.submit(self.engine, payload, by=by, about=payload.run_id, key=key)
        return facts
