"""Asks the planner and commits its answer: the shell around ``plan``, inside the caller's transaction."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import isodate

from runtime.definitions.model import Definition, Kind, Verb
from runtime.engine import Engine
from runtime.model.action import commitment, dedupe_key
from runtime.model.effect import NewEffect, Purpose
from runtime.model.messages import Note, RunEnded
from runtime.model.run import StepState
from runtime.model.states import RUN, STEP, StepStatus, WaitStatus, WaitType, is_final
from runtime.outbox import messages, retry
from runtime.outbox.propose import propose
from runtime.planning.ending import Ending, StepNote, ending_of
from runtime.planning.planner import Event, NotLoadedError, Proposal, Snapshot, Timer, Transition, plan
from runtime.planning.reach import reach, reach_on
from runtime.planning.waits import open_wait
from runtime.store import approvals, effects, waits
from runtime.store import steps as step_rows
from runtime.store.leftovers import StepOf
from runtime.store.transactions.run_tx import RunTx

POST_TASK = "slack::post_task"

_SAID = {
    StepStatus.SUCCEEDED,
    StepStatus.FAILED_TERMINAL,
    StepStatus.FAILED_RETRYABLE,
    StepStatus.SKIPPED,
    StepStatus.CANCELED,
    StepStatus.PARKED,
    StepStatus.WAITING_APPROVAL,
}


async def advance(engine: Engine, tx: RunTx, event: Event) -> Transition:
    """Plan what follows from `event` and write it: steps, effects, waits and leaves, in the transaction of `tx`."""
    definition = await tx.definition()
    transition = await _cleaned(tx, await _plan(tx, definition, event))
    await _write_steps(tx, transition)
    await _close_durable_steps(engine, tx, definition, transition)
    await _emit(engine, tx, definition, transition)
    await _move_run(engine, tx, definition, transition)
    if transition.reads:
        tx.conn.on_commit(engine.wakeup.poke)
    return transition


async def _plan(tx: RunTx, definition: Definition, event: Event) -> Transition:
    """Plan with the steps that the event reaches; where the plan goes on to others, twice as far each time."""
    paths, depth = reach(definition, event), 1
    while True:
        steps, others = await tx.loads.steps(step_rows.Wanted(tx.run_id, paths))
        snapshot = Snapshot(tx.run_id, tx.tenant, tx.status, tx.row["trigger"], steps, others)
        try:
            return plan(definition, snapshot, event)
        except NotLoadedError as error:
            if paths is None or (error.paths is not None and error.paths <= paths):
                raise  # the store has no such step
            paths = None if error.paths is None else reach_on(definition, paths, error.paths, depth)
            depth *= 2


async def _cleaned(tx: RunTx, transition: Transition) -> Transition:
    """Return the transition with errors that may be put on record: they hold what others said, and quote values."""
    if not any(state.error for state in transition.steps.values()):
        return transition
    privacy = await tx.privacy()
    steps = {path: replace(state, error=privacy.text(state.error)) for path, state in transition.steps.items()}
    return replace(transition, steps=steps)


async def _write_steps(tx: RunTx, transition: Transition) -> None:
    params: dict[str, Any] = {read.path: read.params for read in transition.reads}
    for read in transition.reads:
        tx.keep_private(read.params, read.verb.redact)
    await step_rows.write_steps(tx.conn, tx.run_id, transition.steps, params, tx.now)
    for path, state in transition.steps.items():
        if state.status in _SAID:
            tx.leaf(f"step.{state.status}", _step_facts(state, tx.row["salt"]), step=path)


def _step_facts(state: StepState, salt: str) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if state.error:
        facts["error"] = state.error
    if state.result is not None:
        facts["result"] = commitment(state.result, salt)  # bound, and not to be guessed
    return facts


async def _emit(engine: Engine, tx: RunTx, definition: Definition, transition: Transition) -> None:
    await propose(engine, tx, [_effect_of(engine, tx, definition, one) for one in transition.proposals])
    for timer in transition.timers:
        await _open_timer(engine, tx, timer)


def _effect_of(engine: Engine, tx: RunTx, definition: Definition, proposal: Proposal) -> NewEffect:
    verb = proposal.verb
    connector, operation = verb.handler.split("::")
    fields, target = proposal.params, proposal.target
    if verb.handler == POST_TASK:  # a review goes where its groups are, unless its author names a channel
        target = str(fields.get("channel") or engine.routing.channel(tuple(fields.get("groups", ()))))
        fields = {**fields, "channel": target}
    return NewEffect(
        effect_id=engine.new_id("eff"),
        dedupe_key=dedupe_key(definition.digest, tx.run_id, proposal.path, "perform"),
        purpose=Purpose.STEP,
        step=proposal.path,
        connector=connector,
        operation=operation,
        target=target,
        fields=fields,
        tier=verb.tier,
        reversible_by=verb.reversible_by,
        redact=verb.redact,
        forgotten=None,
        idempotency_key=proposal.idempotency_key,
        on_doubt=verb.in_doubt,
        correlation_key=proposal.correlation_key,
        timeout_s=_call_timeout(verb),
        settles_s=verb.settles.total_seconds(),
        retry=retry.to_document(verb.retry, retry.ends_at(definition, tx.row["created_at"])),
    )


_START_LIMIT = 30.0
"""Seconds that the start of a durable verb may take; its own timeout is how long the answer may."""


def _call_timeout(verb: Verb) -> float:
    seconds = verb.timeout.total_seconds()
    return min(seconds, _START_LIMIT) if verb.kind is Kind.DURABLE else seconds


async def _open_timer(engine: Engine, tx: RunTx, timer: Timer) -> None:
    await open_wait(
        engine,
        tx,
        step=timer.path,
        kind=WaitType.TIMER,
        correlation_key=f"{tx.run_id}:{timer.path}",
        lasts=isodate.parse_duration(timer.duration),
    )


async def _move_run(engine: Engine, tx: RunTx, definition: Definition, transition: Transition) -> None:
    if transition.run is tx.status:
        return
    was, tx.status = tx.status, transition.run
    if tx.is_over:
        steps, _ = await tx.loads.steps(step_rows.Wanted(tx.run_id, None))
        ending = ending_of(definition, tx.status, steps)
        tx.error = f"{ending.failed[0].step}: {ending.failed[0].why}" if ending.failed else ""
        await _clear_up(engine, tx, ending)
    facts: dict[str, Any] = {"from": str(was)}
    if tx.is_over:
        facts |= {"error": tx.error, "writes": tx.writes}
    tx.leaf(f"run.{tx.status}", facts)


async def _close_durable_steps(engine: Engine, tx: RunTx, definition: Definition, transition: Transition) -> None:
    """End what a durable step still wanted or asked for when its answer came: its start is tried no more."""
    if is_final(RUN, transition.run):
        return  # which ends all of it together
    for path, state in transition.steps.items():
        is_over = is_final(STEP, state.status) and definition.verb_of(path).kind is Kind.DURABLE
        if is_over and await tx.loads.is_open(StepOf(tx.run_id, path)):
            await waits.close_step_wait(tx.conn, tx.run_id, path, WaitStatus.CANCELED, tx.now)
            await _reject_and_cancel(engine, tx, f"the step has ended: {state.status}", path)


async def _clear_up(engine: Engine, tx: RunTx, ending: Ending) -> None:
    """End everything that a finished run still waits for, asks for, or meant to do."""
    left = await tx.loads.leftovers(tx.run_id)
    if left.waits:
        await waits.cancel_waits(tx.conn, tx.run_id, tx.now)
    if left.wants:
        await _reject_and_cancel(engine, tx, f"the run ended: {tx.status}", None)
    said = RunEnded(
        run=await messages.run_name(tx),
        status=ending.status,
        failed=_notes(ending.failed),
        rejected=_notes(ending.rejected),
        skipped=_notes(ending.skipped),
    )
    await messages.tell_accounts(engine, tx, left.accounts, "run", said, left.last_card)


async def _reject_and_cancel(engine: Engine, tx: RunTx, reason: str, step: str | None) -> None:
    for effect_id in await effects.reject_open(tx.conn, tx.run_id, reason, step):
        tx.leaf("effect.rejected", {"error": reason}, effect_id=effect_id)
    for approval_id in await approvals.cancel_open(tx.conn, tx.run_id, tx.now, step):
        tx.leaf("approval.canceled", {"approval_id": approval_id}, approval_id=approval_id)
        await messages.card_changed(engine, tx, approval_id)


def _notes(notes: Sequence[StepNote]) -> list[Note]:
    return [Note(name=note.step, why=note.why) for note in notes]
