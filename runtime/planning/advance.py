"""Asks the planner and commits its answer: the shell around ``plan``, inside the caller's transaction."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import isodate

from receipts.fields import timestamp
from receipts.redaction import redact
from runtime.definitions.durations import parse_duration
from runtime.definitions.model import Definition, Kind, Verb
from runtime.definitions.nodes import NodeKind
from runtime.engine import Engine
from runtime.model.action import commitment, dedupe_key
from runtime.model.approval import Result, ResultCode
from runtime.model.effect import Effect, LeaseSlot, NewEffect, Purpose
from runtime.model.messages import Note, RunEnded
from runtime.model.run import StepState
from runtime.model.states import RUN, StepStatus, WaitStatus, WaitType, has_stopped, is_final
from runtime.model.wait import signal_key
from runtime.outbox import messages, retry
from runtime.outbox.attempts import subject_of
from runtime.outbox.propose import propose
from runtime.planning.child_runs import cancel_child, cancel_children, tell_parent
from runtime.planning.planner import plan, reach, reach_on, steps_after
from runtime.planning.replay import POST_TASK, SAID, step_facts
from runtime.planning.run_endings import Ending, StepNote, ending_of, response_of
from runtime.planning.step_repair import tell_run_over, tell_steps_needing_attention, with_retry_names
from runtime.planning.transition import (
    Event,
    NotLoadedError,
    Proposal,
    SignalWait,
    Snapshot,
    StepMoved,
    StepRepaired,
    Timer,
    Transition,
)
from runtime.planning.waits import open_wait
from runtime.store import approvals, effects, waits
from runtime.store import steps as step_rows
from runtime.store.database.buffered_connection import at_once
from runtime.store.open_work import EndedRun, RunStep, withdraw_questions
from runtime.store.run_tx import RunTx
from runtime.store.steps import WantedSteps
from runtime.store.transaction_batcher import seen

READ_WHOLE = 16
"""A run of no more steps is read whole: who ends one of them then knows all, and need not read them for the next."""


async def advance(engine: Engine, tx: RunTx, event: Event) -> Transition:
    """Plan what follows from `event` and write it: steps, effects, waits and leaves, in the transaction of `tx`."""
    definition = await tx.definition()
    planned, is_open = await _plan_and_look(engine, tx, definition, event)
    transition = await _cleaned(tx, planned)
    if isinstance(event, StepRepaired):
        transition = await with_retry_names(tx, event, transition)
    await _write_steps(tx, definition, transition)
    await _close_durable_steps(engine, tx, definition, transition, is_open)
    await _emit(engine, tx, definition, transition)
    if any(state.status is StepStatus.NEEDS_ATTENTION for state in transition.steps.values()):
        await tell_steps_needing_attention(engine, tx, transition)
    await _move_run(engine, tx, definition, transition)
    if transition.reads:
        tx.conn.on_commit(engine.wakeup.poke)
    return transition


def looks_of(definition: Definition, run_id: str, event: StepMoved) -> Sequence[WantedSteps | RunStep]:
    """Return what planning `event` looks at first."""
    looks: list[WantedSteps | RunStep] = [WantedSteps(run_id, _read_for(definition, event))]
    if has_stopped(event.status) and may_wait(definition, event.path):
        looks.append(RunStep(run_id, event.path))
    return looks


def _read_for(definition: Definition, event: Event) -> frozenset[str] | None:
    """Return the steps to read for planning `event`, None for all."""
    is_small = len(definition.steps) <= READ_WHOLE and not definition.has_repeats
    return None if is_small else reach(definition, event)


def looks_ahead(tx: RunTx, definition: Definition, event: StepMoved, ends: str) -> list[Awaitable[None]]:
    """Return reads of what planning `event` looks at first; it follows from what `ends`: an approval, or a wait."""
    return [
        tx.look(look, seen(tx.loads, look if isinstance(look, WantedSteps) else replace(look, beside=ends)))
        for look in looks_of(definition, tx.run_id, event)
    ]


async def look_at_run_end(tx: RunTx, ends: str, effect_id: str) -> None:
    """Read ahead what is left open if the run ends with a request, of which nothing is left open then."""
    await tx.look(EndedRun(tx.run_id), tx.loads.leftovers(EndedRun(tx.run_id, ends, effect_id)))


async def _plan(engine: Engine, tx: RunTx, definition: Definition, event: Event) -> Transition:
    """Plan with the steps that the event reaches; where the plan goes on to others, twice as far each time."""
    paths, depth = _read_for(definition, event), 1
    signers = await approvals.signers_of(tx.conn, tx.run_id) if definition.reads_signers else {}
    while True:
        steps, others = await tx.load_steps(paths)
        snapshot = replace(snapshot_of(engine, tx, definition, steps, others, whole=paths is None), signers=signers)
        try:
            return plan(definition, snapshot, event)
        except NotLoadedError as error:
            if paths is None or (error.paths is not None and error.paths <= paths):
                raise  # the store has no such step
            paths = None if error.paths is None else reach_on(definition, paths, error.paths, depth)
            depth *= 2


def snapshot_of(
    engine: Engine,
    tx: RunTx,
    definition: Definition,
    steps: Mapping[str, StepState],
    others: frozenset[StepStatus] = frozenset(),
    *,
    whole: bool = True,
) -> Snapshot:
    """Return the run as a plan sees it, without those who signed."""
    row = tx.row
    return Snapshot(
        tx.run_id,
        tx.tenant,
        tx.status,
        row["trigger"],
        steps,
        others,
        whole,
        state=row["state"] or {},
        reference=row["reference"],
        started_at=timestamp(row["created_at"]) if definition.reads_start else "",
        evaluated=engine.evaluator.known,
    )


async def _cleaned(tx: RunTx, transition: Transition) -> Transition:
    """Return the transition with errors that may be put on record: they hold what others said, and quote values."""
    if not any(state.error for state in transition.steps.values()):
        return transition
    privacy = await tx.privacy()
    steps = {path: replace(state, error=privacy.text(state.error)) for path, state in transition.steps.items()}
    return replace(transition, steps=steps)


async def _write_steps(tx: RunTx, definition: Definition, transition: Transition) -> None:
    params: dict[str, Any] = {read.path: read.params for read in transition.reads}
    for read in transition.reads:
        tx.keep_private(read.params, read.verb.redact)
    new = {path: transition.steps[path] for path in transition.entered}
    if new:
        await step_rows.enter_steps(tx.conn, tx.run_id, definition, new, params, tx.now)
    moved = {path: state for path, state in transition.steps.items() if path not in new} if new else transition.steps
    await step_rows.write_steps(tx.conn, tx.run_id, moved, params, tx.now)
    await step_rows.keep_steps(tx.conn, tx.run_id, transition.kept)
    if tx.steps is not None:
        tx.steps = _stored_after(tx.steps, definition, transition)
    for path, state in transition.steps.items():
        if state.status in SAID:
            tx.leaf(f"step.{state.status}", leaf_facts(definition, path, state, tx.row["salt"]), step=path)
    _tell_run(tx, transition)


def _stored_after(
    steps: Mapping[str, StepState], definition: Definition, transition: Transition
) -> dict[str, StepState]:
    """Return all steps of a run as they will be read once the transition is committed."""
    after = steps_after(steps, transition)
    after |= {path: step_rows.as_stored(after[path]) for path in (*transition.steps, *transition.kept)}
    return {path: after[path] for path in definition.in_order(after)} if transition.entered else after


def _tell_run(tx: RunTx, transition: Transition) -> None:
    if transition.state is not None:
        tx.tell(state=transition.state)
    if transition.reference is not None:
        tx.tell(reference=transition.reference)
    if transition.ended is not None:
        tx.tell(outcome=transition.ended.outcome)
    if transition.has_output:
        tx.tell(output=transition.output)


def leaf_facts(definition: Definition, path: str, state: StepState, salt: str) -> dict[str, Any]:
    """Return what the leaf about a step's new status says."""
    return {**({"error": state.error} if state.error else {}), **step_facts(definition, path, state, salt)}


async def _emit(engine: Engine, tx: RunTx, definition: Definition, transition: Transition) -> None:
    await propose(engine, tx, [proposed_effect(engine, tx.row, definition, one) for one in transition.proposals])
    for timer in transition.timers:
        await _open_timer(engine, tx, timer)
    for signal in transition.signals:
        await open_wait(
            engine,
            tx,
            step=signal.path,
            kind=WaitType.SIGNAL,
            correlation_key=signal_key(tx.run_id, signal.name),
            lasts=_lasts(signal, tx.now),
        )


def proposed_effect(engine: Engine, run: Mapping[str, Any], definition: Definition, proposal: Proposal) -> NewEffect:
    """Return the effect that a step of the run wants, by the run's row."""
    verb = proposal.verb
    connector, operation = verb.handler.split("::")
    fields, target = proposal.params, proposal.target
    if verb.handler == POST_TASK:  # a review goes where its groups are, unless its author names a channel
        target = str(fields.get("channel") or _channel_of(engine, run, definition, verb, fields))
        fields = {**fields, "channel": target}
    return NewEffect(
        effect_id=engine.new_id("eff"),
        dedupe_key=dedupe_key(definition.digest, run["run_id"], proposal.path, _command(proposal)),
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
        retry=retry.to_document(verb.retry, retry.ends_at(definition, run["created_at"]), proposal.until),
    )


def foreseen_effect(
    engine: Engine, run: Mapping[str, Any], definition: Definition, proposal: Proposal, now: datetime
) -> Effect:
    """Return an effect as the gate would have it the first time."""
    new = proposed_effect(engine, run, definition, proposal)
    slot = LeaseSlot(engine.worker, now, lambda _: True)
    action, times = new.action(run["salt"]), effects.Times(now, now)
    return effects.leased(run["run_id"], run["tenant"], new, action, times, slot)


def _channel_of(
    engine: Engine, run: Mapping[str, Any], definition: Definition, verb: Verb, fields: Mapping[str, Any]
) -> str:
    """Return the channel of a review: the first that the tenant's rules name for it, else that of its groups."""
    groups, params = tuple(fields.get("groups", ())), redact(dict(fields), verb.redact).value
    send = engine.routing.destination(subject_of(run, definition, verb, groups, verb.tier, params))
    return next(iter(send.channels), engine.routing.channel(groups))


def _command(proposal: Proposal) -> str:
    return "perform" if proposal.nth == 1 else f"perform:{proposal.nth}"


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
        lasts=_lasts(timer, tx.now),
    )


def _lasts(timer: Timer | SignalWait, now: datetime) -> timedelta:
    """Return how long a step waits; a moment that has passed has come."""
    if timer.until:
        left: timedelta = isodate.parse_datetime(timer.until) - now
        return max(left, timedelta(0))
    return parse_duration(timer.duration)


async def _move_run(engine: Engine, tx: RunTx, definition: Definition, transition: Transition) -> None:
    if transition.run is tx.status:
        return
    was, tx.status = tx.status, transition.run
    if tx.is_over:
        steps, _ = await tx.load_steps(None)
        ending = ending_of(definition, tx.status, steps)
        tx.error = f"{ending.failed[0].step}: {ending.failed[0].why}" if ending.failed else transition.output_error
        await _clear_up(engine, tx, ending, await response_of(tx, definition, steps))
        if definition.starts_runs:
            await cancel_children(engine, tx)
        if definition.may_need_attention:
            await tell_run_over(engine, tx)
    facts: dict[str, Any] = {"from": str(was)}
    if tx.is_over:
        facts |= {"error": tx.error, "writes": tx.writes, **_result_facts(tx, transition)}
    tx.leaf(f"run.{tx.status}", facts)
    if tx.is_over and tx.is_waited_for:
        await tell_parent(engine, tx)


def _result_facts(tx: RunTx, transition: Transition) -> dict[str, Any]:
    """Return what the run came to beside its status, where anything was said of that."""
    facts: dict[str, Any] = {"outcome": transition.ended.outcome} if transition.ended else {}
    if transition.has_output:
        facts["output"] = commitment(transition.output, tx.row["salt"])
    return facts


async def _plan_and_look(
    engine: Engine, tx: RunTx, definition: Definition, event: Event
) -> tuple[Transition, Mapping[str, bool]]:
    """Return what follows; and of the step that the event ends, if it may wait, whether anything of it is open."""
    planning = _plan(engine, tx, definition, event)
    if not (isinstance(event, StepMoved) and has_stopped(event.status) and may_wait(definition, event.path)):
        return await planning, {}
    planned, is_open = await at_once(planning, tx.once(tx.loads.is_open, RunStep(tx.run_id, event.path)))
    return planned, {event.path: is_open}


async def _close_durable_steps(
    engine: Engine, tx: RunTx, definition: Definition, transition: Transition, is_open: Mapping[str, bool]
) -> None:
    """End what a durable step still wanted or asked for when its answer came: its start is tried no more."""
    if is_final(RUN, transition.run):
        return  # which ends all of it together
    for path, state in transition.steps.items():
        if not has_stopped(state.status) or not may_wait(definition, path):
            continue
        if is_open[path] if path in is_open else await tx.loads.is_open(RunStep(tx.run_id, path)):
            await waits.close_step_wait(tx.conn, tx.run_id, path, WaitStatus.CANCELED, tx.now)
            await _reject_and_cancel(engine, tx, f"the step has ended: {state.status}", path)
        if state.status is not StepStatus.SUCCEEDED:
            await cancel_child(engine, tx, definition, path)


def may_wait(definition: Definition, path: str) -> bool:
    """Return whether the step at a path waits by itself, and not for steps inside it."""
    verb = definition.calls(path)
    return verb.kind is Kind.DURABLE if verb else definition.node(path).kind is NodeKind.WAIT


async def _clear_up(engine: Engine, tx: RunTx, ending: Ending, response: str) -> None:
    """End everything that a finished run still waits for, asks for, or meant to do; tell whoever asked for it.

    Of a run for which a step waits nobody is told: they asked for the run of that step, and hear of its end.
    """
    left, *_ = await at_once(
        tx.once(tx.loads.leftovers, EndedRun(tx.run_id)),
        *([] if tx.is_waited_for else [messages.look_at_person(tx, tx.row["requested_by"])]),
    )
    if left.waits:
        await waits.cancel_waits(tx.conn, tx.run_id, tx.now)
    if left.wants:
        await _reject_and_cancel(engine, tx, f"the run ended: {tx.status}", None)
    if tx.is_waited_for:
        return
    said = RunEnded(
        run=await messages.run_name(tx),
        status=ending.status,
        outcome=tx.row["outcome"],
        handled=_notes(ending.handled),
        failed=_notes(ending.failed),
        rejected=_notes(ending.rejected),
        skipped=_notes(ending.skipped),
        response=response,
    )
    await messages.tell_requester(engine, tx, "run", said, left.last_card, is_new=True)


async def _reject_and_cancel(engine: Engine, tx: RunTx, reason: str, step: str | None) -> None:
    rejected = await effects.reject_open(tx.conn, tx.run_id, reason, step)
    for effect_id in rejected:
        tx.leaf("effect.rejected", {"error": reason}, effect_id=effect_id)
    if asked := [approval_id for approval_id in rejected.values() if approval_id]:
        result = Result(ResultCode.NOT_PERFORMED, (reason,))
        for approval_id in await approvals.end_waiting(tx.conn, asked, result):
            await messages.card_changed(engine, tx, approval_id)
    answered = await withdraw_questions(tx.conn, tx.run_id, tx.now, Result(ResultCode.ANSWERED), step)
    if answered:
        tx.conn.on_commit(engine.wakeup.poke)
    for approval_id in [*answered, *await approvals.cancel_open(tx.conn, tx.run_id, tx.now, step)]:
        tx.leaf("approval.canceled", {"approval_id": approval_id}, approval_id=approval_id)
        await messages.card_changed(engine, tx, approval_id)


def _notes(notes: Sequence[StepNote]) -> list[Note]:
    return [Note(name=note.step, why=note.why) for note in notes]
