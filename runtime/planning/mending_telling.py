"""Says to those who may mend it that a step is held, and then how it goes on."""

from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.model.messages import HeldOver, HeldSettled, StepHeld
from runtime.model.run import HeldAct
from runtime.model.states import StepStatus
from runtime.outbox import messages
from runtime.planning.values import Transition
from runtime.store.messages import asking
from runtime.store.run_tx import RunTx


async def tell_held(engine: Engine, tx: RunTx, transition: Transition) -> None:
    """Tell the operators' groups of each step that is held now, once for each time."""
    for path, state in transition.steps.items():
        if state.status is StepStatus.HELD:
            run = await messages.run_name(tx)
            said = StepHeld(run=run, run_id=tx.run_id, step=path, why=state.error, code=state.error_code)
            name = f"step_held:{path}:{tx.head.seq}"
            await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), name, said, None)


async def tell_settled(engine: Engine, tx: RunTx, step: str, act: HeldAct, person: str, reason: str) -> None:
    """Tell the same groups who let the step go on, and how."""
    run = await messages.run_name(tx)
    said = HeldSettled(run=run, step=step, act=act, person=person, why=reason)
    name = f"held_settled:{step}:{tx.head.seq}"
    await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), name, said, None)
    await _close(engine, tx, step, said)


async def tell_over(engine: Engine, tx: RunTx, definition: Definition) -> None:
    """Let no message ask about the steps of a run that has ended."""
    if definition.may_hold:
        await _close(engine, tx, None, HeldOver())


async def _close(engine: Engine, tx: RunTx, step: str | None, then: HeldSettled | HeldOver) -> None:
    for asked in await asking(tx.conn, tx.run_id, step):
        await messages.close_question(engine, tx, asked, then)
