"""Repair of steps that need attention: a new try gets names of its own, and those who may repair one are told of it.

A new try is another effect, under the key of the first unless that was answered. The key stays where nothing was done
under it, so nothing is done twice: what failed, or what people say did not happen, gives its key back. It stays where
it was done and gave a wrong result, too: the gate then returns that result, and acts no second time. A durable verb
whose request was made, and whose answer did not come or was a failure, is asked again: that is another request, under a
key of its own. A read has all its attempts again.
"""

from dataclasses import replace

from runtime.definitions.model import Kind
from runtime.engine import Engine
from runtime.model.messages import RepairClosed, RepairDone, StepNeedsAttention
from runtime.model.run import RepairAction, Tried
from runtime.model.states import StepStatus
from runtime.outbox import messages
from runtime.planning.transition import Proposal, StepRepaired, Transition
from runtime.store import step_repairs as rows
from runtime.store.run_tx import RunTx
from runtime.store.step_repairs import messages_about


def retry_proposal(proposal: Proposal, tried: Tried) -> Proposal:
    """Return what a step wants that has wanted something before."""
    nth, key = tried.effects + 1, proposal.idempotency_key
    asked = tried.done and proposal.verb.kind is Kind.DURABLE
    return replace(proposal, nth=nth, idempotency_key=f"{key}#{nth}" if asked else key)


async def with_retry_names(tx: RunTx, event: StepRepaired, transition: Transition) -> Transition:
    """Return the transition with what a new try wants under names of its own; a read has all its attempts again."""
    if event.act is not RepairAction.RETRY:
        return transition
    if any(read.path == event.path for read in transition.reads):
        await rows.forget_tries(tx.conn, tx.run_id, event.path)
    if all(proposal.path != event.path for proposal in transition.proposals):
        return transition
    tried = await rows.step_tries(tx.conn, tx.run_id, event.path)
    proposals = [retry_proposal(one, tried) if one.path == event.path else one for one in transition.proposals]
    return replace(transition, proposals=proposals)


async def tell_steps_needing_attention(engine: Engine, tx: RunTx, transition: Transition) -> None:
    """Tell the operators' groups of each step that needs attention now, once for each time."""
    for path, state in transition.steps.items():
        if state.status is StepStatus.NEEDS_ATTENTION:
            run = await messages.run_name(tx)
            said = StepNeedsAttention(run=run, run_id=tx.run_id, step=path, why=state.error, code=state.error_code)
            name = f"step_needs_attention:{path}:{tx.head.seq}"
            await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), name, said, None)


async def tell_step_repaired(engine: Engine, tx: RunTx, step: str, act: RepairAction, person: str, reason: str) -> None:
    """Tell the same groups who let the step go on, and how."""
    run = await messages.run_name(tx)
    said = RepairDone(run=run, step=step, act=act, person=person, why=reason)
    name = f"repair_done:{step}:{tx.head.seq}"
    await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), name, said, None)
    await _close_questions(engine, tx, step, said)


async def tell_run_over(engine: Engine, tx: RunTx) -> None:
    """Let no message ask about the steps of a run that has ended."""
    await _close_questions(engine, tx, None, RepairClosed())


async def _close_questions(engine: Engine, tx: RunTx, step: str | None, then: RepairDone | RepairClosed) -> None:
    for asked in await messages_about(tx.conn, tx.run_id, step):
        await messages.close_question(engine, tx, asked, then)
