"""A held step that is tried anew: what it wants gets names of its own, and a read has all its attempts again."""

from dataclasses import replace

from runtime.model.run import HeldAct
from runtime.planning.mending_names import renamed
from runtime.planning.values import Event, Mended, Transition
from runtime.store import held_steps as held
from runtime.store.run_tx import RunTx


async def anew(tx: RunTx, event: Event, transition: Transition) -> Transition:
    """Return the transition with what a new try wants under names of its own; a read has all its attempts again."""
    if not isinstance(event, Mended) or event.act is not HeldAct.RETRY:
        return transition
    if any(read.path == event.path for read in transition.reads):
        await held.forget_tries(tx.conn, tx.run_id, event.path)
    if all(proposal.path != event.path for proposal in transition.proposals):
        return transition
    tried = await held.tried(tx.conn, tx.run_id, event.path)
    proposals = [renamed(one, tried) if one.path == event.path else one for one in transition.proposals]
    return replace(transition, proposals=proposals)
