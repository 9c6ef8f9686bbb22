"""Asking ahead: what policy says of the step that comes next is asked while this one is under way, and nothing waits.

An answer counts if its question turns out to be the same soon enough (`AskedAhead`), and if no answer from another
policy has come since. It is recorded as it was asked, at the time of asking. One that does not count is no decision: it
is forgotten, and the gate asks again. Where many runs go on at one moment nothing is asked ahead: their questions share
requests.
"""

import asyncio
import logging

from policy.contract import Question, Verdict
from runtime.engine import Engine
from runtime.model.asked_ahead import AskedAhead
from runtime.model.effect import Effect
from runtime.model.states import StepStatus
from runtime.outbox.attempts import make_attempt, make_question
from runtime.planning.advance import foreseen_effect, snapshot_of
from runtime.planning.planner import plan
from runtime.planning.transition import StepMoved
from runtime.store.passage_facts import facts_following
from runtime.store.run_tx import RunTx

log = logging.getLogger(__name__)


def ask_ahead(engine: Engine, tx: RunTx, effect: Effect) -> None:
    """Ask about what follows when the effect, which has begun with this transaction, has succeeded, if that is known.

    What a step gives is not known yet. A guess that is wrong costs a question that nobody wanted.
    """
    try:
        question = _following(engine, tx, effect)
    except Exception:  # what cannot be foreseen is planned when it is there
        log.debug("what follows %s of run %s is not known ahead", effect.step, tx.run_id, exc_info=True)
        return
    if question is not None:
        engine.policy_seen.asked_ahead += 1
        answer = engine.ask.put(question)
        answer.add_done_callback(_hear)
        tx.asked_ahead = AskedAhead(question, tx.now, answer)


def _hear(answer: "asyncio.Future[Verdict]") -> None:
    """Take note of an error, which is told to whoever wants the answer: perhaps nobody does."""
    if not answer.cancelled():
        answer.exception()


def _following(engine: Engine, tx: RunTx, effect: Effect) -> Question | None:
    """Return the question about the one effect that follows, planned as if the step gave nothing."""
    definition = engine.definitions.known(tx.row["definition_name"], tx.row["definition_version"])
    known = tx.snapshot()
    if definition is None or known is None or definition.reads_signers or effect.correlation_key:
        return None
    snapshot = snapshot_of(engine, tx, definition, known.steps)
    transition = plan(definition, snapshot, StepMoved(effect.step, StepStatus.SUCCEEDED, {}))
    if len(transition.proposals) != 1:
        return None
    following = foreseen_effect(engine, tx.row, definition, transition.proposals[0], tx.now)
    writes = tx.writes + (not effect.is_read)
    return make_question(make_attempt(following, facts_following(tx.row, writes, known.facts)), tx.now)
