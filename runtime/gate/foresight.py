"""Whether policy denies at once what a form asks for: the gate's own question, asked before anything is started.

Nothing of it is recorded: what policy decides about a run is decided at the gate, as ever.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from policy.contract import Outcome, PolicyUnavailableError, Question, Reason, Verdict
from runtime.definitions.cel.outcomes import NotEvaluatedError
from runtime.definitions.model import Definition
from runtime.engine import Engine
from runtime.model.effect import Effect
from runtime.outbox.attempts import make_attempt, make_question
from runtime.planning.advance import foreseen_effect
from runtime.planning.planner import begin, ends_by_denial
from runtime.planning.triggers import Trigger, check_payload
from runtime.store.database.pool import Conn
from runtime.store.passage_facts import EndedEffect, done_before, facts_following, run_facts
from runtime.store.runs import Subject, runs_about
from runtime.store.tenants import salt_of

SECONDS = 1.0
"""For so long policy is asked while a form waits: Slack waits for three."""
MOST = 32
"""Effects that policy is asked about: as many as go in one request."""


async def denied_at_once(engine: Engine, definition: Definition, trigger: Trigger) -> Sequence[Reason] | None:
    """Return why policy denies what a run would begin with, so that it would end; None where it does not.

    None, too, where the trigger starts no run, or where it is not known in time: the gate decides that. Raise
    TriggerError where the payload does not fit.
    """
    about = check_payload(definition, trigger)
    now = engine.clock()
    async with engine.pool.connection() as conn:
        if about and (await runs_about(conn, [Subject(trigger.tenant, definition.name, about)]))[0]:
            return None  # it is a signal to that run
        run = _run(engine.new_id("run"), definition, trigger, await salt_of(conn, trigger.tenant), now)
        try:
            snapshot, proposals = begin(definition, run, about, engine.evaluator.known)
            ending = [one for one in proposals[:MOST] if ends_by_denial(definition, snapshot, one.path)]
        except NotEvaluatedError:
            return None
        effects = [foreseen_effect(engine, run, definition, one, now) for one in ending]
        questions = await _questions(conn, run, effects, now)
    return _denial(await _asked(engine, questions))


def _run(run_id: str, definition: Definition, trigger: Trigger, salt: str, now: datetime) -> dict[str, Any]:
    """Return the row that the run would have, as far as it matters to what it begins with."""
    return {
        "run_id": run_id,
        "tenant": trigger.tenant,
        "trigger": trigger.payload,
        "trigger_type": trigger.type,
        "definition_name": definition.name,
        "definition_version": definition.version,
        "requested_by": trigger.requested_by.id,
        "requester_kind": trigger.requested_by.kind,
        "submitted_by": trigger.submitted_by,
        "salt": salt,
        "version": 1,
        "created_at": now,
    }


async def _questions(
    conn: Conn, run: Mapping[str, Any], effects: Sequence[Effect], now: datetime
) -> Sequence[Question]:
    """Return what the gate would ask about effects; nothing about those that were done before under their key."""
    if not effects:
        return []
    (known,) = await run_facts(conn, [EndedEffect(run["tenant"], run["run_id"], run["requested_by"], "")])
    facts = facts_following(run, 0, known)
    done = await done_before(conn, [(run["tenant"], one.idempotency_key) for one in effects])
    new = [effect for effect, is_done in zip(effects, done, strict=True) if not is_done]
    return [make_question(make_attempt(effect, facts), now) for effect in new]


async def _asked(engine: Engine, questions: Sequence[Question]) -> Sequence[Verdict | PolicyUnavailableError]:
    """Ask policy in one request; return no answers where they do not come in time."""
    if not questions:
        return ()
    try:
        async with asyncio.timeout(SECONDS):
            return await engine.ask_with_names(questions)
    except TimeoutError:
        return ()


def _denial(answers: Sequence[Verdict | PolicyUnavailableError]) -> Sequence[Reason] | None:
    """Return the reasons of all denials, each once; None where nothing is denied in words that the gate would take."""
    verdicts = [one.answer for one in answers if isinstance(one, Verdict) and not one.answer.obligations]
    denials = [answer for answer in verdicts if answer.outcome is Outcome.DENY]
    return list(dict.fromkeys(reason for one in denials for reason in one.reasons)) if denials else None
