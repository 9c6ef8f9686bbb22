"""The passage of the effect that an approval is about, for whoever holds its run."""

from runtime.engine import Engine
from runtime.model.approval import Approval
from runtime.outbox.attempt import make_attempt
from runtime.planning.passage import Passage
from runtime.store import effects
from runtime.store.passages import read_facts
from runtime.store.run_tx import RunTx


async def passage_of(engine: Engine, tx: RunTx, approval: Approval) -> Passage:
    """Return it as it stands now."""
    effect = await effects.get_effect(tx.conn, approval.effect_id)
    return Passage(engine, tx, make_attempt(effect, await read_facts(tx.conn, effect)))
