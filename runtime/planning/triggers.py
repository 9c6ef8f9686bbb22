"""Triggers: how runs begin. Each is claimed once by (tenant, type, ref); a second claim returns the first run.

Where a runbook says what its triggers are about, one run of it at most goes on about the same: a trigger that comes
meanwhile is a signal to that run. Who claims one holds the matter, so that two at one moment are a run and a signal.
"""

import logging
from collections.abc import Mapping
from typing import Any

from receipts.chain import EVIDENCE_FORMAT, GENESIS, RUN_QUEUED, Actor
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.model.action import commitment
from runtime.model.errors import ParamsError
from runtime.model.json_limits import fault
from runtime.model.life import Life
from runtime.model.run import NewRun
from runtime.model.states import RunStatus
from runtime.planning.advance import advance
from runtime.planning.claims import Claim, SignalSent, Trigger, TriggerConflictError, TriggerError
from runtime.planning.correlation import find_signal, reference_of, send_signal
from runtime.planning.planner import Started, fits
from runtime.store import directory, runs
from runtime.store.database.pool import Conn
from runtime.store.run_tx import RunTx
from runtime.store.runs_by_subject import hold_matter, run_about
from runtime.store.tenant_rows import salt_of
from runtime.store.together import side_by_side

__all__ = [
    "Claim",
    "SignalSent",
    "Trigger",
    "TriggerConflictError",
    "TriggerError",
    "check_payload",
    "claim",
    "claim_in",
    "find_claim",
    "start_next",
    "start_run",
]

AT_ONCE = 16
"""Runs that are started in one transaction."""

log = logging.getLogger(__name__)


async def claim(engine: Engine, definition: Definition, trigger: Trigger) -> Claim:
    """Start a queued run of `definition`, or return the run that this trigger started before.

    Where a run of it is about the same, it gets a signal instead, which the caller applies; else a worker does.
    """
    check_payload(definition, trigger)
    async with engine.pool.connection() as conn, conn.transaction():
        claimed = await claim_in(engine, conn, definition, trigger)
    if claimed.is_new:
        at(Point.TRIGGER_CLAIMED)
        engine.wakeup.poke()
    return claimed


def check_payload(definition: Definition, trigger: Trigger) -> None:
    """Raise TriggerError where the payload is not one of the definition's trigger, or does not say what it is about."""
    if wrong := fault(dict(trigger.payload)):
        raise TriggerError(f"payload: {wrong}")
    try:
        fits(definition.trigger_schema, dict(trigger.payload), "payload")
    except ParamsError as error:
        raise TriggerError(str(error)) from error
    if definition.about is not None:
        reference_of(definition.about, trigger.payload)


async def claim_in(engine: Engine, conn: Conn, definition: Definition, trigger: Trigger, left_by: str = "") -> Claim:
    """Claim a trigger, whose payload fits, in the caller's transaction.

    `left_by` is the notification as which it was a signal to a run that has ended without it: that claim is void.
    """
    if definition.about is None:
        return await _start_new(engine, conn, definition, trigger, "")
    about = reference_of(definition.about, trigger.payload)
    await hold_matter(conn, trigger.tenant, definition.name, about)
    if not left_by and (before := await find_claim(conn, trigger)):
        return before
    if going_on := await run_about(conn, trigger.tenant, definition.name, about):
        return await send_signal(engine, conn, definition.about.signal, going_on, trigger, left_by)
    return await _start_new(engine, conn, definition, trigger, about)


async def _start_new(engine: Engine, conn: Conn, definition: Definition, trigger: Trigger, about: str) -> Claim:
    """Start a run, unless the trigger has."""
    new = await _new_run(engine, conn, trigger, about)
    run_id = await runs.claim_trigger(conn, new, definition, engine.clock())
    if run_id is None:
        return await _find_started(conn, trigger)
    tx = await engine.lock_run(conn, run_id, trigger.request_id)
    facts = _facts(engine, definition, trigger, about) | await _name_of(tx, trigger.requested_by)
    tx.leaf(RUN_QUEUED, facts, actor=trigger.requested_by)
    await tx.flush()
    at(Point.TRIGGER_CLAIMING)
    return Claim(run_id, is_new=True)


async def _new_run(engine: Engine, conn: Conn, trigger: Trigger, about: str) -> NewRun:
    behind = dict.fromkeys((trigger.requested_by.id, trigger.submitted_by))
    accounts = await directory.accounts_of(conn, trigger.tenant, *behind)
    salt = await salt_of(conn, trigger.tenant)
    return NewRun(
        requester_accounts=accounts,
        run_id=engine.new_id("run"),
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


async def _name_of(tx: RunTx, requester: Actor) -> dict[str, str]:
    """Return the name of the person who asks, as the directory has it now."""
    row = await tx.loads.actor((tx.tenant, requester.id)) if requester.kind == "person" else None
    return {"requester_name": row["name"]} if row and row["name"] else {}


def _named(life: Life) -> dict[str, Any]:
    return {"name": life.name, "version": life.version, "digest": life.digest}


async def find_claim(conn: Conn, trigger: Trigger) -> Claim | None:
    """Return the run that this trigger started before, or to which it was a signal; None where it never came.

    Raise TriggerConflictError where it said something else then.
    """
    if sent := await find_signal(conn, trigger):
        return sent
    try:
        return await _find_started(conn, trigger)
    except LookupError:
        return None


async def _find_started(conn: Conn, trigger: Trigger) -> Claim:
    first = await runs.run_of_trigger(conn, trigger.tenant, trigger.type, trigger.ref)
    if not _is_same(first, trigger.payload) or first["requested_by"] != trigger.requested_by.id:
        raise TriggerConflictError(f"ref {trigger.ref!r} was claimed before, with another payload or requester")
    return Claim(first["run_id"], is_new=False)


def _is_same(first: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    """Return whether a run was started by this payload, of which it may have forgotten what nobody may see."""
    if first["trigger_digest"] is None:
        return bool(first["trigger"] == dict(payload))
    return bool(first["trigger_digest"] == commitment(dict(payload), first["salt"]))


async def start_run(engine: Engine, run_id: str) -> None:
    """Start a queued run, unless another worker has."""
    await engine.on_run(run_id, lambda tx: _start(engine, tx))


async def start_next(engine: Engine, but: set[str]) -> int:
    """Start the oldest queued runs that nobody else is starting, and return how many: some in one transaction.

    `but` holds runs to leave alone. Where one of a set cannot be started they are started one by one; that one joins
    `but`, and its error is raised.
    """
    try:
        return await _start_some(engine, but, AT_ONCE)
    except Exception:
        log.debug("a set of runs is started one by one", exc_info=True)  # each then raises for itself
    return sum([await _start_some(engine, but, 1) for _ in range(AT_ONCE)])


async def _start_some(engine: Engine, but: set[str], most: int) -> int:
    async with engine.pool.connection() as conn, conn.transaction():
        run_ids = await runs.next_queued(conn, engine.tenant, but, most)
        if not run_ids:
            return 0
        try:
            txs = await engine.lock_runs(conn, run_ids, wait=True)
            await side_by_side(txs.values(), lambda tx: _start(engine, tx))
            await conn.write()
            at(Point.RUN_STARTING)
        except BaseException:
            if most == 1:
                but.update(run_ids)
            raise
    at(Point.RUN_STARTED)
    return len(run_ids)


async def _start(engine: Engine, tx: RunTx) -> None:
    if tx.status is RunStatus.QUEUED:
        tx.leaf("run.started", {"worker": engine.worker})
        await advance(engine, tx, Started())
        await tx.flush()
