"""Triggers: how runs begin. Each is claimed once by (tenant, type, ref); a second claim returns the first run.

Correlation: where a runbook says what its triggers are about, at most one open run is about the same subject. A trigger
that comes meanwhile is a signal to that run. Claiming locks the subject, so that two at one moment are a run and a
signal. The signal is recorded in the transaction that found the run, and applied after it, like all that comes in.
Should the run end before, the inbox starts one after all (`runtime.inbox.signals`).
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import EVIDENCE_FORMAT, GENESIS, RUN_QUEUED, Actor
from runtime.definitions.cel.expressions import render_text
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import About, Definition
from runtime.engine import HEAD_START, Engine
from runtime.failpoints import Point, at
from runtime.model.action import commitment
from runtime.model.limits import json_fault
from runtime.model.notification import dedupe_key_of
from runtime.model.payloads import SignalPayload, TriggerSaid
from runtime.model.run import NewRun
from runtime.model.runbook_version import RunbookVersion
from runtime.model.steps import ParamsError
from runtime.model.wait import signal_key
from runtime.planning.node_kinds import REFERENCE_LIMIT
from runtime.planning.step_params import fits
from runtime.store import notifications
from runtime.store.batched_reads import BatchedReads
from runtime.store.database.pool import Conn
from runtime.store.directory import KnownSender, Sender
from runtime.store.runs import Queued, Subject, TriggerName, lock_subjects
from runtime.store.tenants import salt_of


class TriggerError(Exception):
    """The trigger cannot start a run; the message says what is wrong with it."""


class TriggerConflictError(TriggerError):
    """The ref was claimed before, by a trigger that said something else."""


@dataclass(frozen=True)
class Trigger:
    """A wish to start a run. `requested_by` is the actor behind it, `submitted_by` the verified caller that sent it.

    `parent` is the step of another run that starts this one (`NewRun.parent`). `among` are the versions that were
    looked at when the type alone did not say what starts; none where its sender named the runbook.
    """

    tenant: str
    type: str
    ref: str
    payload: Mapping[str, Any]
    requested_by: Actor
    submitted_by: str
    request_id: str
    parent: Mapping[str, Any] | None = None
    among: Sequence[RunbookVersion] = ()


@dataclass(frozen=True)
class SignalSent:
    """The signal that a trigger became: its name, and the notification as which it was recorded.

    `status` and `reason` say what became of it so far.
    """

    name: str
    notification_id: str
    status: str = "received"
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """The run that a trigger started, or to which it was sent as a signal; `is_new` is False where it came before."""

    run_id: str
    is_new: bool
    signal: SignalSent | None = None


def reference_of(about: About, payload: Mapping[str, Any]) -> str:
    """Return what a trigger is about; raise TriggerError where its payload does not say it."""
    try:
        reference = render_text(about.reference, {"trigger": dict(payload)})
    except ExpressionError as error:
        raise TriggerError(f"about: {error}") from error
    if not 0 < len(reference) <= REFERENCE_LIMIT:
        raise TriggerError(f"about: a reference has 1 to {REFERENCE_LIMIT} characters, not {len(reference)}")
    return reference


async def find_signal(loads: BatchedReads, trigger: Trigger) -> Claim | None:
    """Return as which signal the trigger was sent before, or None; raise TriggerConflictError where it said else."""
    notification_id = await loads.recorded(_signal_key(trigger))
    if notification_id is None:
        return None
    (found,) = await notifications.addressed(loads.conn, [notification_id])
    if isinstance(found, Exception):
        raise found
    first = found.notification
    if not isinstance(first.payload, SignalPayload):
        raise TypeError(f"{notification_id} is no signal")
    is_same = first.forgotten or first.payload.data == dict(trigger.payload)
    if not is_same or first.actor != trigger.requested_by:
        raise TriggerConflictError(f"ref {trigger.ref!r} was claimed before, with another payload or requester")
    return Claim(first.payload.run_id, is_new=False, signal=SignalSent(first.payload.name, notification_id))


async def send_signal(engine: Engine, conn: Conn, name: str, run_id: str, trigger: Trigger, left_by: str) -> Claim:
    """Record the trigger as a signal to the run; `left_by` as for `claim_in`."""
    if trigger.parent is not None and "token" in trigger.parent:
        raise TriggerError(f"run {run_id} is about the same and goes on, and another run cannot wait for its end")
    said = TriggerSaid(type=trigger.type, ref=trigger.ref, submitted_by=trigger.submitted_by)
    new = engine.notification(
        SignalPayload(run_id=run_id, name=name, data=dict(trigger.payload), trigger=said),
        by=trigger.requested_by,
        about=signal_key(run_id, name),
        key=dedupe_key_of("left", trigger.tenant, trigger.type, left_by) if left_by else _signal_key(trigger),
        request_id=trigger.request_id,
    )
    now = engine.clock()
    await notifications.record_all(conn, [new], now, now + HEAD_START)
    return Claim(run_id, is_new=True, signal=SignalSent(name, new.notification_id))


def _signal_key(trigger: Trigger) -> str:
    return dedupe_key_of("trigger", trigger.tenant, trigger.type, trigger.ref)


CLAIMS = 64
"""Triggers that are claimed in one transaction."""


@dataclass(frozen=True)
class CheckedTrigger:
    """A trigger whose payload fits, and the definition of which it is to start a run."""

    definition: Definition
    trigger: Trigger
    subject: Subject | None

    @classmethod
    def of(cls, definition: Definition, trigger: Trigger) -> "CheckedTrigger":
        """Return the trigger with its subject, where the definition has any; raise TriggerError if it does not fit."""
        about = check_payload(definition, trigger)
        return cls(definition, trigger, Subject(trigger.tenant, definition.name, about) if about else None)


async def claim(engine: Engine, definition: Definition, trigger: Trigger) -> Claim:
    """Claim a trigger by itself, as `claim_all` does; raise TriggerError."""
    (claimed,) = await claim_all(engine, [CheckedTrigger.of(definition, trigger)])
    if isinstance(claimed, TriggerError):
        raise claimed
    return claimed


async def claim_all(engine: Engine, wanted: Sequence[CheckedTrigger]) -> list[Claim | TriggerError]:
    """Claim triggers in one transaction: each starts a queued run, or gets the run that it started before.

    Where a run is about the same, a trigger becomes a signal to it, which the caller applies; else a worker does. Those
    about one subject are claimed in their order. A trigger that said something else before gets its error.
    """
    claims = dict[int, Claim | TriggerError]()
    async with engine.pool.connection() as conn, conn.transaction():
        loads = BatchedReads(conn)
        if subjects := {one.subject for one in wanted if one.subject}:
            lock_subjects(conn, subjects)
        for turn in _turns(wanted):
            ended = await asyncio.gather(*(_claim(engine, loads, wanted[n]) for n in turn), return_exceptions=True)
            claims |= {number: _unless_a_fault(one) for number, one in zip(turn, ended, strict=True)}
    if any(isinstance(claimed, Claim) and claimed.is_new for claimed in claims.values()):
        at(Point.TRIGGER_CLAIMED)
        engine.wakeup.poke()
    return [claims[number] for number in range(len(wanted))]


def _turns(wanted: Sequence[CheckedTrigger]) -> list[list[int]]:
    """Return the numbers of those that are claimed at once: of those about one subject, one in each turn."""
    before: Counter[Subject] = Counter()
    turns: list[list[int]] = []
    for number, one in enumerate(wanted):
        turn = before[one.subject] if one.subject else 0
        before.update([one.subject] if one.subject else ())
        turns += [[]] * (turn == len(turns))
        turns[turn] = [*turns[turn], number]
    return turns


def _unless_a_fault(ended: Claim | BaseException) -> Claim | TriggerError:
    if isinstance(ended, BaseException) and not isinstance(ended, TriggerError):
        raise ended
    return ended


def check_payload(definition: Definition, trigger: Trigger) -> str:
    """Return what the trigger is about, "" where the definition does not say; raise TriggerError if it does not fit."""
    if wrong := json_fault(dict(trigger.payload)):
        raise TriggerError(f"payload: {wrong}")
    try:
        fits(definition.trigger_schema, dict(trigger.payload), "payload")
    except ParamsError as error:
        raise TriggerError(str(error)) from error
    return reference_of(definition.about, trigger.payload) if definition.about else ""


async def claim_in(
    engine: Engine, loads: BatchedReads, definition: Definition, trigger: Trigger, left_by: str = ""
) -> Claim:
    """Claim a trigger in the transaction of `loads`; raise TriggerError where its payload does not fit.

    `left_by` is the notification as which it was a signal to a run that has ended without it: that claim is void.
    """
    wanted = CheckedTrigger.of(definition, trigger)
    if wanted.subject:
        lock_subjects(loads.conn, [wanted.subject])
    return await _claim(engine, loads, wanted, left_by)


async def _claim(engine: Engine, loads: BatchedReads, wanted: CheckedTrigger, left_by: str = "") -> Claim:
    """Claim a trigger whose subject is locked."""
    subject, trigger, about = wanted.subject, wanted.trigger, wanted.definition.about
    if subject is None or about is None:
        return await _start_new(engine, loads, wanted)
    before = None if left_by else await find_claim(loads, trigger)
    if before:
        return before
    if going_on := await loads.run_about(subject):
        return await send_signal(engine, loads.conn, about.signal, going_on, trigger, left_by)
    return await _start_new(engine, loads, wanted)


async def _start_new(engine: Engine, loads: BatchedReads, wanted: CheckedTrigger) -> Claim:
    """Start a run, unless the trigger has."""
    definition, trigger = wanted.definition, wanted.trigger
    about = wanted.subject.about if wanted.subject else ""
    known = await loads.sender(Sender(trigger.tenant, trigger.requested_by.id, trigger.submitted_by))
    salt = known.salt or await salt_of(loads.conn, trigger.tenant)
    new = _new_run(engine.new_id("run"), trigger, about, known, salt)
    row = await loads.new_run(Queued(new, definition, engine.clock()))
    if row is None:
        return await _expect_started(loads, trigger)
    tx = engine.made_run(loads, row, row["created_at"])
    named = {"requester_name": known.name} if known.name and trigger.requested_by.kind == "person" else {}
    tx.leaf(RUN_QUEUED, _facts(engine, definition, trigger, about) | named, actor=trigger.requested_by)
    await tx.flush()
    at(Point.TRIGGER_CLAIMING)
    return Claim(new.run_id, is_new=True)


def _new_run(run_id: str, trigger: Trigger, about: str, known: KnownSender, salt: str) -> NewRun:
    return NewRun(
        requester_accounts=known.accounts,
        run_id=run_id,
        tenant=trigger.tenant,
        trigger_type=trigger.type,
        trigger_ref=trigger.ref,
        trigger=trigger.payload,
        trigger_digest=commitment(dict(trigger.payload), salt),
        requested_by=trigger.requested_by.id,
        requester_kind=trigger.requested_by.kind,
        submitted_by=trigger.submitted_by,
        request_id=trigger.request_id,
        salt=salt,
        genesis_hash=GENESIS.hash,
        parent=trigger.parent,
        about=about,
    )


def _facts(engine: Engine, definition: Definition, trigger: Trigger, about: str) -> dict[str, Any]:
    return {
        "format": EVIDENCE_FORMAT,
        "tenant": trigger.tenant,
        "trigger_type": trigger.type,
        "trigger_ref": trigger.ref,
        "definition_name": definition.name,
        "definition_version": definition.version,
        "definition_digest": definition.digest,
        "submitted_by": trigger.submitted_by,
        **({"about": about} if about else {}),
        **({"among": [_named(life) for life in trigger.among]} if definition.when is not None else {}),
        **({"parent": {name: trigger.parent[name] for name in ("run_id", "step")}} if trigger.parent else {}),
        **({"mocked": True} if engine.mocked else {}),
    }


def _named(life: RunbookVersion) -> dict[str, Any]:
    return {"name": life.name, "version": life.version, "digest": life.digest}


async def find_claim(loads: BatchedReads, trigger: Trigger) -> Claim | None:
    """Return the run that this trigger started before, or to which it was a signal; None where it never came.

    Raise TriggerConflictError where it said something else then.
    """
    return await find_signal(loads, trigger) or await _find_started(loads, trigger)


async def _find_started(loads: BatchedReads, trigger: Trigger) -> Claim | None:
    first = await loads.run_of_trigger(TriggerName(trigger.tenant, trigger.type, trigger.ref))
    if first is None:
        return None
    if not _is_same(first, trigger.payload) or first["requested_by"] != trigger.requested_by.id:
        raise TriggerConflictError(f"ref {trigger.ref!r} was claimed before, with another payload or requester")
    return Claim(first["run_id"], is_new=False)


async def _expect_started(loads: BatchedReads, trigger: Trigger) -> Claim:
    claimed = await _find_started(loads, trigger)
    if claimed is None:
        raise LookupError(f"no run for {trigger.type} {trigger.ref}")
    return claimed


def _is_same(first: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    """Return whether a run was started by this payload, of which it may have forgotten what nobody may see."""
    return bool(first["trigger_digest"] == commitment(dict(payload), first["salt"]))
