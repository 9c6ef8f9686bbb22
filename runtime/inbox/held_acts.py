"""Lets a held step go on as a person says: tried again, with a result that they supply, without it, or not at all.

A step that waits and has not failed goes on with a supplied result, or is skipped.
"""

from collections.abc import Mapping
from typing import Any

from policy.model import Ruling
from receipts.chain import HELD_SETTLED
from runtime.definitions.model import Definition
from runtime.definitions.nodes import WaitSpec
from runtime.inbox.matter import Matter
from runtime.inbox.operator_acts import DENIED, denial, policy_of, refuse_wish
from runtime.model.action import commitment
from runtime.model.errors import ParamsError
from runtime.model.json_limits import fault
from runtime.model.notification import Applied
from runtime.model.run import WHILE_WAITING, FoundStep, HeldAct
from runtime.model.run_payloads import MendPayload
from runtime.model.states import NotificationStatus, StepStatus
from runtime.planning.advance import advance, may_wait
from runtime.planning.children import cancel_child
from runtime.planning.mending_telling import tell_settled
from runtime.planning.plan_builder import state_with
from runtime.planning.planner import Mended, fits
from runtime.store import held_steps as held
from runtime.store.run_tx import RunTx

_UNFIT = "act.unfit"


async def apply_mend(matter: Matter, payload: MendPayload) -> Applied:
    """Let a held step go on: if it is as the person saw it, policy allows it, and it can be done."""
    tx = matter.seen_run(payload.run_id, None)
    if isinstance(tx, Applied):
        return tx
    step = await held.find_step(tx.conn, tx.tenant, tx.run_id, payload.step)
    if moved := _moved_on(step, payload):
        return Applied(NotificationStatus.STALE, {"reason": moved})
    judged = matter.judged
    if step is None or judged is None or judged.step is None or not judged.step.is_as(step):
        return Applied(NotificationStatus.STALE, {"reason": f"{payload.step} has moved on since policy was asked"})
    if refused := await _refusal(judged.ruling, tx, step, payload):
        return await refuse_wish(matter, tx, *refused, payload.step)
    return await _done(matter, tx, payload, judged.ruling)


def _moved_on(step: FoundStep | None, payload: MendPayload) -> str:
    """Return how the step is another than the person saw, "" where it is not; what else its run did is no matter."""
    if step is None:
        return f"{payload.step} of it is not held: there is no such step"
    if step.status not in (StepStatus.HELD, StepStatus.PARKED):
        return f"{payload.step} of it is not held: {step.status}"
    if payload.version not in (None, step.version):
        return f"{payload.step} has moved on: it was at version {payload.version}, and is at {step.version}"
    return ""


async def _refusal(ruling: Ruling, tx: RunTx, step: FoundStep, payload: MendPayload) -> tuple[str, str] | None:
    """Return code and sentence of why it is not done, or None."""
    if said := denial(ruling):
        return DENIED, said
    if step.status is StepStatus.PARKED and (wrong := _not_while_waiting(await tx.definition(), payload)):
        return _UNFIT, wrong
    if payload.act is HeldAct.SUPPLY:
        wrong = _unfit(await tx.definition(), payload.step, payload.result, tx.row["state"] or {})
        return (_UNFIT, wrong) if wrong else None
    if payload.act is HeldAct.RETRY and (await held.tried(tx.conn, tx.run_id, payload.step)).unsettled:
        return _UNFIT, "an attempt of it is still under way, or in doubt"
    return None


def _not_while_waiting(definition: Definition, payload: MendPayload) -> str:
    if not may_wait(definition, payload.step):
        return f"{payload.step} waits for the steps inside it: act on those"
    if payload.act in WHILE_WAITING:
        return ""
    return f"{payload.step} waits and has not failed: supply its result, or skip it"


def _unfit(definition: Definition, path: str, result: Any, state: Mapping[str, Any]) -> str:
    """Return why that can be no result of the step, or cannot be kept in the run's state, "" if it can."""
    if wrong := fault(result):
        return f"result: {wrong}"
    key = definition.node(path).result_key
    try:
        fits(_schema_of(definition, path), result, "result")
        if key:
            state_with(definition, state, {key: result})
    except ParamsError as error:
        return str(error)
    return ""


def _schema_of(definition: Definition, path: str) -> Mapping[str, Any]:
    """Return what a result of the step has to be."""
    verb = definition.calls(path)
    return verb.output_schema if verb else definition.spec(path, WaitSpec).schema_ or {}


async def _done(matter: Matter, tx: RunTx, payload: MendPayload, ruling: Ruling) -> Applied:
    engine, actor = matter.engine, matter.notification.actor
    reason = (await tx.privacy()).text(payload.reason)
    facts: dict[str, Any] = {"act": str(payload.act), "reason": reason, "policy": policy_of(ruling)}
    if payload.act is HeldAct.SUPPLY:
        facts["result"] = commitment(payload.result, tx.row["salt"])
    event = Mended(payload.step, payload.act, f"{actor.id}: {reason}", payload.result)
    tx.leaf(HELD_SETTLED, facts, actor=actor, step=payload.step)
    await held.count_act(tx.conn, tx.run_id, payload.step)
    await tell_settled(engine, tx, payload.step, payload.act, await _name(matter), reason)
    await advance(engine, tx, event)
    await cancel_child(engine, tx, await tx.definition(), payload.step)
    tx.conn.on_commit(engine.wakeup.poke)
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id, "step": payload.step, "act": str(payload.act)})


async def _name(matter: Matter) -> str:
    known = await matter.engine.actor(matter.notification.actor.id)
    return str(known["name"]) if known else matter.notification.actor.id
