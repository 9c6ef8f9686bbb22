"""Signals to a run by name: one ends what waits for it; one that comes before anything does, waits for that.

Where a trigger became a signal to a run that ended before it took the signal, the trigger is claimed again: nobody has
heard it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.definitions.model import Definition
from runtime.definitions.nodes import WaitSpec
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.wait_endings import complete_wait, record_wait_refusal
from runtime.model.limits import json_fault
from runtime.model.notification import ApplyResult
from runtime.model.payloads import AnswerCode, SignalPayload, TriggerSaid
from runtime.model.runbook_version import NotActiveError
from runtime.model.states import NotificationStatus, StepStatus
from runtime.model.steps import ParamsError
from runtime.model.wait import NamedWait, Wait
from runtime.planning.runbook_selection import select_runbook
from runtime.planning.step_params import fits
from runtime.planning.transition import StepMoved
from runtime.planning.triggers import Claim, Trigger, TriggerError, claim_in
from runtime.store import waits
from runtime.store.batched_reads import BatchedReads
from runtime.store.definitions import versions_of_trigger
from runtime.store.run_tx import RunTx


async def reclaim_trigger(matter: NotificationContext, signal: SignalPayload, said: TriggerSaid) -> ApplyResult:
    """Start a run, or send the trigger on to the one that is about the same by now."""
    try:
        claimed = await _claim(matter, signal, said)
    except (NotActiveError, TriggerError) as error:
        return ApplyResult(NotificationStatus.STALE, {"reason": f"the run had ended, and none was started: {error}"})
    matter.conn.on_commit(matter.engine.wakeup.poke)
    done = "is told" if claimed.signal else "was started"
    facts = {"reason": f"the run had ended before: run {claimed.run_id} {done}", "went_to": claimed.run_id}
    return ApplyResult(NotificationStatus.APPLIED, {**facts, "started": claimed.signal is None}, is_passed_on=True)


async def _claim(matter: NotificationContext, signal: SignalPayload, said: TriggerSaid) -> Claim:
    engine, notification = matter.engine, matter.notification
    lives = await versions_of_trigger(matter.conn, notification.tenant, said.type)
    life, among = select_runbook(lives, None, signal.data)
    definition = await engine.definitions.get(matter.conn, life.name, life.version)
    trigger = Trigger(
        tenant=notification.tenant,
        type=said.type,
        ref=said.ref,
        payload=signal.data,
        requested_by=notification.actor,
        submitted_by=said.submitted_by,
        request_id=notification.request_id,
        among=among,
    )
    return await claim_in(engine, BatchedReads(matter.conn), definition, trigger, notification.notification_id)


_EARLY = "no step waits for this signal yet; it is kept as long as the run goes on"


def data_fault(schema: Mapping[str, Any], data: Mapping[str, Any]) -> str | None:
    """Return the first place where a signal's data is not what its wait asks for, or None."""
    if wrong := json_fault(data):
        return f"data: {wrong}"
    try:
        fits(schema, dict(data), "data")
    except ParamsError as error:
        return str(error)
    return None


def schema_of(definition: Definition, path: str) -> Mapping[str, Any]:
    """Return what the data of a signal must be for which the step at `path` waits: anything, where it does not say."""
    spec = definition.node(path).spec
    return (spec.schema_ or {}) if isinstance(spec, WaitSpec) else {}


async def apply_signal(matter: NotificationContext, signal: SignalPayload) -> ApplyResult:
    """Give a signal to all that waits for it in its run; what does not fit one of them is refused there."""
    tx = matter.run()
    if tx is None:
        return ApplyResult(NotificationStatus.REFUSED, {"reason": f"there is no run {signal.run_id}"})
    if tx.is_over and signal.trigger is not None:
        return await reclaim_trigger(matter, signal, signal.trigger)
    if tx.is_over:
        return _told(NotificationStatus.STALE, AnswerCode.LATE, f"the run has ended: {tx.status}")
    outcomes = await _give_all(matter, tx, signal, matter.waits)
    if not outcomes:  # another signal may have ended the wait that was found, and by that another one have opened
        outcomes = await _give_all(
            matter, tx, signal, await waits.waiting_under(tx.conn, tx.run_id, matter.notification.correlation_key)
        )
    return _sum_up(outcomes) if outcomes else _told(NotificationStatus.EARLY, AnswerCode.EARLY, _EARLY)


async def _give_all(
    matter: NotificationContext, tx: RunTx, signal: SignalPayload, named: Sequence[NamedWait]
) -> list[dict[str, str]]:
    outcomes = []
    for one in named:
        wait = await tx.loads.wait(one)  # as it is under the run's lock
        if wait is not None and not tx.is_over:
            outcomes.append(await _give(matter, tx, signal, wait))
            await tx.conn.write()  # the next is of the same run, and finds what was written before it
    return outcomes


async def _give(matter: NotificationContext, tx: RunTx, signal: SignalPayload, wait: Wait) -> dict[str, str]:
    facts = {"wait_id": wait.wait_id, "run_id": wait.run_id, "step": wait.step, "code": "", "reason": ""}
    if wrong := data_fault(schema_of(await tx.definition(), wait.step), signal.data):
        reason = await record_wait_refusal(matter, tx, wait.step, AnswerCode.INVALID, wrong)
        return {**facts, "status": str(NotificationStatus.REFUSED), "code": str(AnswerCode.INVALID), "reason": reason}
    await complete_wait(matter, tx, wait, StepMoved(wait.step, StepStatus.SUCCEEDED, dict(signal.data)))
    return {**facts, "status": str(NotificationStatus.APPLIED)}


def _sum_up(outcomes: list[dict[str, str]]) -> ApplyResult:
    """Return one outcome for all: applied if it did anything, else why the first did not take it."""
    telling = next((one for one in outcomes if one["status"] == NotificationStatus.APPLIED), outcomes[0])
    return ApplyResult(NotificationStatus(telling["status"]), {**telling, "waits": outcomes})


def _told(status: NotificationStatus, code: AnswerCode, reason: str) -> ApplyResult:
    return ApplyResult(status, {"code": str(code), "reason": reason})
