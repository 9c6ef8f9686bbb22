"""Asks policy whether a person may let a held or waiting step go on; outside of every transaction."""

from dataclasses import replace

from policy.model import HeldInput, OperatedRun, OperatorQuestion
from receipts.fields import timestamp
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.inbox.operator_acts import actor_of
from runtime.model.action import Tier
from runtime.model.errors import CLASS_OF, ErrorCode
from runtime.model.notification import Addressed, Judged
from runtime.model.run import FoundStep
from runtime.model.run_payloads import MendPayload
from runtime.model.states import StepStatus
from runtime.store.held_steps import find_step


async def ruled_on_mend(engine: Engine, found: Addressed, payload: MendPayload) -> Addressed:
    """Return a notification with what policy says of it; raise PolicyUnavailableError.

    What policy is told was read without a lock: if anything has happened to the step when the act is applied, nothing
    is done.
    """
    async with engine.pool.connection() as conn:
        step = await find_step(conn, engine.tenant, payload.run_id, payload.step)
        if step is None:
            return found
        definition = await engine.definitions.get(conn, step.definition_name, step.definition_version)
    question = await _question(engine, found, payload, step, definition)
    return replace(found, judged=Judged(await engine.policy.judge(question), step))


async def _question(
    engine: Engine, found: Addressed, payload: MendPayload, step: FoundStep, definition: Definition
) -> OperatorQuestion:
    return OperatorQuestion(
        time=timestamp(engine.clock()),
        tenant=engine.tenant,
        actor=await actor_of(engine, found.notification, payload.submitted_by),
        act=payload.act.value,
        run=OperatedRun(
            id=step.run_id,
            definition=step.definition_name,
            version=step.definition_version,
            trigger_type=step.trigger_type,
            requested_by=step.requested_by,
            submitted_by=step.submitted_by,
        ),
        step=_held(step, definition),
    )


def _held(step: FoundStep, definition: Definition) -> HeldInput:
    verb = definition.calls(step.path)
    must_sign = step.signed or (verb is not None and verb.tier is Tier.HIGH)
    answers = verb is not None and verb.wait_type == "human_task"
    return HeldInput(
        path=step.path,
        status="parked" if step.status is StepStatus.PARKED else "held",
        verb=step.verb,
        code=step.error_code,
        error_class=str(CLASS_OF[ErrorCode(step.error_code)]) if step.error_code else "",
        people="answer" if answers else "sign" if must_sign else "none",
    )
