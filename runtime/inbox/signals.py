"""Signals: word to a run by name. One ends what waits for it; one that comes before anything does, waits for that."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.definitions.model import Definition
from runtime.definitions.nodes import WaitSpec
from runtime.inbox.matter import Matter
from runtime.inbox.signals_left import claim_anew
from runtime.inbox.wait_endings import complete, refuse
from runtime.model.answers import AnswerCode, SignalPayload
from runtime.model.errors import ParamsError
from runtime.model.json_limits import fault
from runtime.model.notification import Applied
from runtime.model.states import NotificationStatus, StepStatus
from runtime.model.wait import NamedWait, Wait
from runtime.planning.planner import StepMoved, fits
from runtime.store import waits
from runtime.store.run_tx import RunTx

_EARLY = "no step waits for this signal yet; it is kept as long as the run goes on"


def data_fault(schema: Mapping[str, Any], data: Mapping[str, Any]) -> str | None:
    """Return the first place where a signal's data is not what its wait asks for, or None."""
    if wrong := fault(data):
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


async def apply_signal(matter: Matter, signal: SignalPayload) -> Applied:
    """Give a signal to all that waits for it in its run; what does not fit one of them is refused there."""
    tx = matter.run()
    if tx is None:
        return Applied(NotificationStatus.REFUSED, {"reason": f"there is no run {signal.run_id}"})
    if tx.is_over and signal.trigger is not None:
        return await claim_anew(matter, signal, signal.trigger)
    if tx.is_over:
        return _told(NotificationStatus.STALE, AnswerCode.LATE, f"the run has ended: {tx.status}")
    outcomes = await _give_all(matter, tx, signal, matter.waits)
    if not outcomes:  # another signal may have ended the wait that was found, and by that another one have opened
        outcomes = await _give_all(
            matter, tx, signal, await waits.waiting_under(tx.conn, tx.run_id, matter.notification.correlation_key)
        )
    return _sum_up(outcomes) if outcomes else _told(NotificationStatus.EARLY, AnswerCode.EARLY, _EARLY)


async def _give_all(
    matter: Matter, tx: RunTx, signal: SignalPayload, named: Sequence[NamedWait]
) -> list[dict[str, str]]:
    outcomes = []
    for one in named:
        wait = await tx.loads.wait(one)  # as it is under the run's lock
        if wait is not None and not tx.is_over:
            outcomes.append(await _give(matter, tx, signal, wait))
            await tx.conn.write()  # the next is of the same run, and finds what was written before it
    return outcomes


async def _give(matter: Matter, tx: RunTx, signal: SignalPayload, wait: Wait) -> dict[str, str]:
    facts = {"wait_id": wait.wait_id, "run_id": wait.run_id, "step": wait.step, "code": "", "reason": ""}
    if wrong := data_fault(schema_of(await tx.definition(), wait.step), signal.data):
        reason = await refuse(matter, tx, wait.step, AnswerCode.INVALID, wrong)
        return {**facts, "status": str(NotificationStatus.REFUSED), "code": str(AnswerCode.INVALID), "reason": reason}
    await complete(matter, tx, wait, StepMoved(wait.step, StepStatus.SUCCEEDED, dict(signal.data)))
    return {**facts, "status": str(NotificationStatus.APPLIED)}


def _sum_up(outcomes: list[dict[str, str]]) -> Applied:
    """Return one outcome for all: applied if it did anything, else why the first did not take it."""
    telling = next((one for one in outcomes if one["status"] == NotificationStatus.APPLIED), outcomes[0])
    return Applied(NotificationStatus(telling["status"]), {**telling, "waits": outcomes})


def _told(status: NotificationStatus, code: AnswerCode, reason: str) -> Applied:
    return Applied(status, {"code": str(code), "reason": reason})
