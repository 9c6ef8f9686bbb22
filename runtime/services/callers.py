"""Callers of the HTTP edge: agents that trigger runs and answer for durable steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Literal

from policy.contract import Reason
from receipts.acts import RequestRefused
from receipts.chain import Actor
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.gate.foresight import denied_at_once
from runtime.inbox import inbox
from runtime.model.payloads import CompletionPayload, ProgressPayload
from runtime.model.runbook_version import NotActiveError, RunbookVersion
from runtime.model.search import FoundRun, Sought
from runtime.model.undo import UNDO, UNDO_NAME
from runtime.planning import triggers
from runtime.planning.runbook_selection import select_runbook
from runtime.planning.triggers import CheckedTrigger, Claim, Trigger, TriggerConflictError, TriggerError
from runtime.services.links import run_link
from runtime.store import runs
from runtime.store.batched_reads import BatchedReads, Batcher, with_fallback_to_single
from runtime.store.bundle_search import find_runs
from runtime.store.tenants import put_act

__all__ = [
    "Claim",
    "NotActiveError",
    "TriggerConflictError",
    "TriggerError",
]


class NoRunbookError(Exception):
    """No runbook takes triggers of the type, or this process may not start the one that does."""


@dataclass(frozen=True)
class Grants:
    """What the directory lets an agent do: trigger types, speaking for people, verbs it may answer for.

    `signals` are types of triggers to whose runs it may send signals, `answers_for` people whose answers to tasks it
    may bring, `repairs` the trigger types for whose runs it may bring people's repairs of steps. `cancels` and `undoes`
    are types of triggers: runs of these it may have stopped, or what they did taken back. With `previews` it may ask
    what a policy would answer.
    """

    triggers: Sequence[str] = ()
    on_behalf: bool = False
    completes: Sequence[str] = ()
    signals: Sequence[str] = ()
    answers_for: Sequence[str] = ()
    repairs: Sequence[str] = ()
    cancels: Sequence[str] = ()
    undoes: Sequence[str] = ()
    previews: bool = False


def grants_of(actor: Mapping[str, Any] | None) -> Grants | None:
    """Return what the directory's row of an agent lets it do; None of nobody, and of a person."""
    return None if actor is None or actor["kind"] != "agent" else Grants(**actor["grants"])


@dataclass(frozen=True)
class Answer:
    """Word from the other side of a durable step. `answer_id` is the sender's own: the same id is applied once.

    `correlation_key` and `token` are those that came with the request.
    """

    answer_id: str
    is_progress: bool
    outcome: Literal["succeeded", "failed"]
    correlation_key: str
    result: Mapping[str, Any]
    error: str
    message: str
    data: Mapping[str, Any] | None
    token: str | None


@dataclass(frozen=True)
class Wish:
    """A wish to start a run: with the version that is named, or the newest active one where it is None."""

    type: str
    version: int | None
    ref: str
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class TriggerApi:
    """Triggers runs of one tenant for callers, and takes their answers."""

    engine: Engine
    tenant: str
    catalog: Catalog

    def now(self) -> datetime:
        """Return the shared clock's time."""
        return self.engine.clock()

    def link_to(self, run_id: str) -> str:
        """Return our own link to a run, to pass on; "" where browsers do not reach us."""
        return run_link(self.engine.routing.public_url, run_id)

    async def grants(self, agent: str) -> Grants | None:
        """Return what an agent of the directory may do, or None where it has none by that name."""
        return grants_of(await self._actor(agent, "agent"))

    async def knows_person(self, name: str) -> bool:
        """Return whether the directory has that person."""
        return await self._actor(name, "person") is not None

    async def put_refused(self, requests: Sequence[tuple[str, RequestRefused]]) -> None:
        """Put refused requests on record in the tenant's chain, each with its caller's name."""
        async with self.engine.pool.connection() as conn, conn.transaction():
            for caller, refused in requests:
                await put_act(conn, self.tenant, refused, Actor(id=caller, kind="agent"), self.now())

    async def trigger(self, wish: Wish, by: Actor, caller: str) -> Claim:
        """Start a run on behalf of `by`, or return the one that this wish started before.

        Where a run goes on about the same, the wish is a signal to that; the claim says what became of it. Raise
        NoRunbookError, NotActiveError or TriggerError.
        """
        trigger = self._trigger(wish, by, caller)
        try:
            runbook, among = await self.runbook_for(wish)
        except NotActiveError:
            if claimed := await self._claimed_before(trigger):
                return await self._heard(claimed)
            raise
        return await self._heard(await self._claims(CheckedTrigger.of(runbook, replace(trigger, among=among))))

    @cached_property
    def _claims(self) -> Batcher[CheckedTrigger, Claim]:
        """Return what claims a trigger, together with others that come now."""
        return Batcher(
            with_fallback_to_single(partial(triggers.claim_all, self.engine)), most=triggers.CLAIMS, at_once=2
        )

    async def denied(self, wish: Wish, by: Actor, caller: str) -> Sequence[Reason] | None:
        """Return why policy denies at once what such a wish would begin with, None where it does not, or came before.

        Nothing is started or recorded. Raise NoRunbookError, NotActiveError or TriggerError.
        """
        trigger = self._trigger(wish, by, caller)
        if await self._claimed_before(trigger):
            return None
        runbook, _ = await self.runbook_for(wish)
        return await denied_at_once(self.engine, runbook, trigger)

    def _trigger(self, wish: Wish, by: Actor, caller: str) -> Trigger:
        return Trigger(
            tenant=self.tenant,
            type=wish.type,
            ref=wish.ref,
            payload=wish.payload,
            requested_by=by,
            submitted_by=caller,
            request_id=self.engine.new_id("req"),
        )

    async def _heard(self, claim: Claim) -> Claim:
        """Return the claim with what became of the signal, where it is one: its run may have ended just now."""
        if claim.signal is None:
            return claim
        facts = await inbox.apply(self.engine, claim.signal.notification_id)
        run_id = facts.get("went_to", claim.run_id)
        if facts.get("started"):
            return Claim(run_id, is_new=claim.is_new)
        told = replace(claim.signal, status=str(facts["status"]), reason=str(facts.get("reason", "")))
        return replace(claim, run_id=run_id, signal=told)

    async def runbook_for(self, wish: Wish) -> tuple[Definition, Sequence[RunbookVersion]]:
        """Return the version that such a wish starts, and among which it was chosen, none where there was no choice.

        Raise NoRunbookError or NotActiveError.
        """
        lives = await self.engine.versions_of(wish.type)
        if not lives:
            raise NoRunbookError(f"no runbook takes triggers of type {wish.type}")
        life, among = select_runbook(lives, wish.version, wish.payload)
        if life.name in self.catalog.unavailable:
            raise NoRunbookError(f"{life.name}, which takes triggers of type {wish.type}, has a problem in its files")
        async with self.engine.pool.connection() as conn:
            return await self.engine.definitions.get(conn, life.name, life.version), among

    async def _claimed_before(self, trigger: Trigger) -> Claim | None:
        """Return the run that the same wish has started, None where none has; raise TriggerConflictError."""
        async with self.engine.pool.connection() as conn:
            return await triggers.find_claim(BatchedReads(conn), trigger)

    async def notify(self, caller: str, grants: Grants, answer: Answer) -> tuple[str, Mapping[str, Any]]:
        """Record an answer and apply it; return the notification's id and the facts of its outcome.

        Sent again, it gets the present outcome. Raise ConflictError where its id was used for another answer.
        """
        payload, by = _payload_of(answer, list(grants.completes)), Actor(id=caller, kind="agent")
        key = f"{self.tenant}:{caller}:{answer.answer_id}"
        return await inbox.submit(self.engine, payload, by=by, about=answer.correlation_key, key=key)

    async def run(self, run_id: str) -> dict[str, Any] | None:
        """Return a run and its steps, or None."""
        async with self.engine.pool.connection() as conn:
            return await runs.run_summary(conn, self.tenant, run_id)

    async def type_of(self, run: Mapping[str, Any]) -> str:
        """Return the trigger type of a run; of one that undoes another, the other's: who may see that may see this."""
        if run["trigger_type"] != UNDO:
            return str(run["trigger_type"])
        undone = await self.run(str(run["definition_name"]).removeprefix(UNDO_NAME))
        return await self.type_of(undone) if undone else UNDO

    async def find(self, sought: Sought) -> list[FoundRun]:
        """Return the tenant's runs that are sought, the newest first; raise LookupError where `after` is no run."""
        async with self.engine.pool.connection() as conn:
            return await find_runs(conn, self.tenant, sought)

    async def _actor(self, name: str, kind: str) -> dict[str, Any] | None:
        row = await self.engine.actor(name)
        return row if row is not None and row["kind"] == kind else None


def _payload_of(answer: Answer, verbs: list[str]) -> CompletionPayload | ProgressPayload:
    said = {
        "outcome": answer.outcome,
        "result": dict(answer.result),
        "error": answer.error,
        "message": answer.message,
        "token": answer.token,
        "verbs": verbs,
    }
    if answer.is_progress:
        return ProgressPayload(**said, data=None if answer.data is None else dict(answer.data))
    return CompletionPayload(**said)
