"""Repairs of steps that need attention: a person has one tried again, supplies its result, skips it, or ends the run.

A step that waits and has not failed goes on with a supplied result, or is skipped. Policy is asked whether the person
may, outside of every transaction.
"""

from collections.abc import Mapping
from typing import Any

from policy.operator_contract import Authorization, StepInput
from receipts.chain import REPAIR_DECIDED
from runtime.definitions.model import Definition
from runtime.definitions.nodes import WaitSpec
from runtime.engine import Engine
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.operator_acts import DENIED, denial, judge, operated_run, policy_of, refuse_operator_act
from runtime.model.action import Tier, commitment
from runtime.model.commands import RepairStepPayload
from runtime.model.limits import json_fault
from runtime.model.notification import Addressed, ApplyResult
from runtime.model.run import WHILE_WAITING, FoundStep, RepairAction
from runtime.model.states import NotificationStatus, StepStatus
from runtime.model.steps import CLASS_OF, ErrorCode, ParamsError
from runtime.planning.advance import advance, may_wait
from runtime.planning.child_runs import cancel_child
from runtime.planning.plan_builder import state_with
from runtime.planning.step_params import fits
from runtime.planning.step_repair import tell_step_repaired
from runtime.planning.transition import StepRepaired
from runtime.store import step_repairs as rows
from runtime.store.run_tx import RunTx
from runtime.store.step_repairs import find_step

_UNFIT = "act.unfit"


async def apply_step_repair(matter: NotificationContext, payload: RepairStepPayload) -> ApplyResult:
    """Let a step that needs attention go on: if it is as the person saw it, policy allows it, and it can be done."""
    tx = matter.seen_run(payload.run_id, None)
    if isinstance(tx, ApplyResult):
        return tx
    step = await rows.find_step(tx.conn, tx.tenant, tx.run_id, payload.step)
    if moved := _moved_on(step, payload):
        return ApplyResult(NotificationStatus.STALE, {"reason": moved})
    judged = matter.judged
    if step is None or judged is None or judged.step is None or not judged.step.is_as(step):
        return ApplyResult(NotificationStatus.STALE, {"reason": f"{payload.step} has moved on since policy was asked"})
    if refused := await _refusal(judged.ruling, tx, step, payload):
        return await refuse_operator_act(matter, tx, *refused, payload.step)
    return await _repair(matter, tx, payload, judged.ruling)


def _moved_on(step: FoundStep | None, payload: RepairStepPayload) -> str:
    """Return how the step is another than the person saw, "" where it is not; what else its run did is no matter."""
    if step is None:
        return f"there is no step {payload.step}"
    if step.status not in (StepStatus.NEEDS_ATTENTION, StepStatus.PARKED):
        return f"{payload.step} does not need attention: {step.status}"
    if payload.version not in (None, step.version):
        return f"{payload.step} has moved on: it was at version {payload.version}, and is at {step.version}"
    return ""


async def _refusal(
    ruling: Authorization, tx: RunTx, step: FoundStep, payload: RepairStepPayload
) -> tuple[str, str] | None:
    """Return code and sentence of why it is not done, or None."""
    if said := denial(ruling):
        return DENIED, said
    if step.status is StepStatus.PARKED and (wrong := _not_while_waiting(await tx.definition(), payload)):
        return _UNFIT, wrong
    if payload.act is RepairAction.SUPPLY:
        wrong = _unfit(await tx.definition(), payload.step, payload.result, tx.row["state"] or {})
        return (_UNFIT, wrong) if wrong else None
    if payload.act is RepairAction.RETRY and (await rows.step_tries(tx.conn, tx.run_id, payload.step)).unsettled:
        return _UNFIT, "an attempt of it is still under way, or in doubt"
    return None


def _not_while_waiting(definition: Definition, payload: RepairStepPayload) -> str:
    if not may_wait(definition, payload.step):
        return f"{payload.step} waits for the steps inside it: act on those"
    if payload.act in WHILE_WAITING:
        return ""
    return f"{payload.step} waits and has not failed: supply its result, or skip it"


def _unfit(definition: Definition, path: str, result: Any, state: Mapping[str, Any]) -> str:
    """Return why that can be no result of the step, or cannot be kept in the run's state, "" if it can."""
    if wrong := json_fault(result):
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


async def _repair(
    matter: NotificationContext, tx: RunTx, payload: RepairStepPayload, ruling: Authorization
) -> ApplyResult:
    engine, actor = matter.engine, matter.notification.actor
    reason = (await tx.privacy()).text(payload.reason)
    facts: dict[str, Any] = {"act": str(payload.act), "reason": reason, "policy": policy_of(ruling)}
    if payload.act is RepairAction.SUPPLY:
        facts["result"] = commitment(payload.result, tx.row["salt"])
    event = StepRepaired(payload.step, payload.act, f"{actor.id}: {reason}", payload.result)
    tx.leaf(REPAIR_DECIDED, facts, actor=actor, step=payload.step)
    await rows.count_repair(tx.conn, tx.run_id, payload.step)
    await tell_step_repaired(engine, tx, payload.step, payload.act, await _person_name(matter), reason)
    await advance(engine, tx, event)
    await cancel_child(engine, tx, await tx.definition(), payload.step)
    tx.conn.on_commit(engine.wakeup.poke)
    return ApplyResult(NotificationStatus.APPLIED, {"run_id": tx.run_id, "step": payload.step, "act": str(payload.act)})


async def _person_name(matter: NotificationContext) -> str:
    known = await matter.engine.actor(matter.notification.actor.id)
    return str(known["name"]) if known else matter.notification.actor.id


async def authorize_repair(engine: Engine, found: Addressed, payload: RepairStepPayload) -> Addressed:
    """Return a notification with what policy says of it; raise PolicyUnavailableError.

    What policy is told was read without a lock: if anything has happened to the step when the act is applied, nothing
    is done.
    """
    async with engine.pool.connection() as conn:
        step = await find_step(conn, engine.tenant, payload.run_id, payload.step)
        if step is None:
            return found
        definition = await engine.definitions.get(conn, step.definition_name, step.definition_version)
    about = {"run": operated_run(vars(step)), "step": _step_input(step, definition)}
    return await judge(engine, found, payload.act.value, payload.submitted_by, known=step, **about)


def _step_input(step: FoundStep, definition: Definition) -> StepInput:
    verb = definition.calls(step.path)
    must_sign = step.signed or (verb is not None and verb.tier is Tier.HIGH)
    answers = verb is not None and verb.wait_type == "human_task"
    return StepInput(
        path=step.path,
        status="parked" if step.status is StepStatus.PARKED else "needs_attention",
        verb=step.verb,
        code=step.error_code,
        error_class=str(CLASS_OF[ErrorCode(step.error_code)]) if step.error_code else "",
        people="answer" if answers else "sign" if must_sign else "none",
    )
