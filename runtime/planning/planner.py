"""The pure planner: ``plan(definition, snapshot, event) -> Transition``.

It reads no clock, no database and no network. The shell loads a snapshot, asks, and commits the answer. A snapshot may
leave out steps that the event does not reach (`reach`): the plan is the one that all steps would give, or an error that
names the steps to load first. So what one event costs does not grow with the run. The snapshot holds what costly
expressions give, too, or the plan is an error that names the expression: the shell evaluates it in another process.

The rules: a step starts when all that it needs has succeeded or was skipped, or has failed and a branch took that up. A
step with a `when` starts if the condition holds and is skipped if not; a step without one is skipped when something it
needs was skipped. A step with others in it has ended when those have. One step that fails for good, and has no branch
for that, ends the run: what has not ended is canceled. A run succeeds if and only if every step has succeeded, was
skipped or failed and was handled, or if one of its steps said that it ends; a failure that the same event brought about
wins over an end. A step that fails and whose runbook wants a person for that needs attention: others go on, and it does
as the person says.

Reach of an event: which steps a plan will look at, so that no others need to be loaded. A guess, and never the last
word: the planner names what is missing, and more is loaded then.

`begin` plans a run ahead, before it exists: its first effects, and whether a denial of one would end it. Nothing is
committed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

from receipts.errors import ReceiptsError
from receipts.fields import timestamp
from runtime.definitions.cel.expressions import EVALUATED, PINNED, evaluate_condition, render
from runtime.definitions.cel.outcomes import ExpressionError, Outcome
from runtime.definitions.model import Definition
from runtime.definitions.nodes import BODY, NodeKind
from runtime.definitions.scope import references_in, steps_of
from runtime.model.run import WHILE_WAITING, RepairAction, StepState
from runtime.model.states import RUN, IllegalTransitionError, RunStatus, StepStatus, check_run, is_final
from runtime.model.steps import ErrorCode, ParamsError, around, block_of, inside, iterated, iteration
from runtime.planning import node_kinds
from runtime.planning import node_repeat as repeat
from runtime.planning.expression_context import Context, approvals_of, context_of, run_facts
from runtime.planning.plan_builder import DONE, Planning, branch_taken
from runtime.planning.step_errors import step_error
from runtime.planning.step_params import expect_kept
from runtime.planning.transition import (
    Canceled,
    Event,
    NotLoadedError,
    Proposal,
    Snapshot,
    Started,
    StepMoved,
    StepRepaired,
    Transition,
)

START: Mapping[NodeKind, Callable[[Planning, str, Context], None]] = {
    NodeKind.CALL: node_kinds.start_call,
    NodeKind.SET: node_kinds.start_set,
    NodeKind.REFERENCE: node_kinds.start_reference,
    NodeKind.SWITCH: node_kinds.start_switch,
    NodeKind.REPEAT: repeat.start_repeat,
    NodeKind.WAIT: node_kinds.start_wait,
    NodeKind.END: node_kinds.start_end,
}


def plan(definition: Definition, snapshot: Snapshot, event: Event) -> Transition:
    """Return what follows from `event`; raise IllegalTransitionError if it cannot follow on `snapshot`.

    Raise NotLoadedError where that takes steps which the snapshot leaves out, and NotEvaluatedError where it takes what
    a costly expression gives.
    """
    if is_final(RUN, snapshot.status):
        return Transition(snapshot.status)
    planning = Planning(definition, snapshot)
    if isinstance(event, Canceled):
        planning.cancel_rest(event.reason)
        status = RunStatus.CANCELED
    else:
        status = _go_on(planning, event)
    check_run(snapshot.status, status)
    planning.transition.run = status
    if status is RunStatus.SUCCEEDED:
        _give_output(planning)
    return planning.transition


_WAITS_FIRST = (
    (StepStatus.FAILED_TERMINAL, RunStatus.FAILED_TERMINAL),
    (StepStatus.READY, RunStatus.RUNNING),
    (StepStatus.RUNNING, RunStatus.RUNNING),
    (StepStatus.WAITING_APPROVAL, RunStatus.WAITING_APPROVAL),
    (StepStatus.FAILED_RETRYABLE, RunStatus.FAILED_RETRYABLE),
    (StepStatus.NEEDS_ATTENTION, RunStatus.NEEDS_ATTENTION),
    (StepStatus.PARKED, RunStatus.WAITING),
)


def freed_by(definition: Definition, event: Event) -> Collection[str]:
    """Return the steps that may start after `event`, as far as the definition tells without knowing the run."""
    match event:
        case Started():
            return [path for path in definition.block("") if not definition.needs(path)]
        case StepMoved(path, status) if status in DONE:
            return definition.needed_by(path)
        case StepRepaired(path):
            return definition.needed_by(path)
        case _:
            return ()


def run_status(present: Collection[StepStatus]) -> RunStatus:
    """Return the run's status that the statuses of its steps add up to; work to do outranks waiting."""
    for step, status in _WAITS_FIRST:
        if step in present:
            return status
    if DONE.issuperset(present):
        return RunStatus.SUCCEEDED
    return RunStatus.CANCELED if StepStatus.CANCELED in present else RunStatus.RUNNING


def _go_on(planning: Planning, event: Event) -> RunStatus:
    if isinstance(event, StepMoved):
        moved = StepState(event.status, event.result, event.error, event.error_code)
        _guarded(planning, event.path, partial(planning.move, event.path, moved))
        _start_what_is_free(planning, _freed(planning))
    elif isinstance(event, StepRepaired):
        _repair(planning, event)
        _start_what_is_free(planning, _freed(planning))
    else:
        _start_what_is_free(planning, freed_by(planning.definition, event))
    if planning.transition.ended:
        planning.cancel_rest(f"the run ended: {planning.transition.ended.outcome}", StepStatus.SKIPPED)
        return RunStatus.SUCCEEDED
    _halt_if_failed(planning)
    return run_status(planning.present())


def _repair(planning: Planning, event: StepRepaired) -> None:
    """Let a step go on as a person says; raise ParamsError where their result cannot be kept."""
    path, step = event.path, planning.look(event.path)
    if step.status is not StepStatus.NEEDS_ATTENTION and not (
        step.status is StepStatus.PARKED and event.act in WHILE_WAITING
    ):
        raise IllegalTransitionError(f"step {path} needs no attention: {step.status}")
    match event.act:
        case RepairAction.RETRY:
            planning.steps[path] = replace(step, status=StepStatus.PENDING)
            _guarded(planning, path, partial(_start, planning, path))
        case RepairAction.SUPPLY:
            planning.put(path, StepState(StepStatus.SUCCEEDED, event.result))
        case RepairAction.SKIP:
            planning.put(path, StepState(StepStatus.SKIPPED, error=event.reason))
        case RepairAction.END:
            ended = StepState(StepStatus.FAILED_TERMINAL, error=event.reason, error_code=step.error_code)
            planning.put(path, ended)


def _start_what_is_free(planning: Planning, candidates: Iterable[str]) -> None:
    """Start those of the steps that are free, an `end` after the others; what ends at once may free others."""
    while free := [path for path in planning.definition.in_order(candidates) if _is_free(planning, path)]:
        for path in sorted(free, key=lambda one: planning.definition.node(one).kind is NodeKind.END):
            _guarded(planning, path, partial(_start, planning, path))
            if planning.transition.ended:
                return
        candidates = _freed(planning)


def _freed(planning: Planning) -> list[str]:
    """Return the steps that may be free by what has ended since it was last asked, and those that are new."""
    found: list[str] = []
    while planning.done:
        found += _after(planning, planning.done.pop(0))
    found += planning.fresh
    planning.fresh.clear()
    return found


def _after(planning: Planning, path: str) -> Collection[str]:
    """Return what may start when a step has ended: the branch that its ending takes, or what comes behind it."""
    if iterated(path):
        return ()
    taken = branch_taken(planning.definition, path, planning.steps[path])
    if taken is None:
        return _behind(planning, path)
    branch = inside(path, taken)
    planning.add(branch, StepState(StepStatus.PARKED))
    planning.enter(branch)
    return ()


def _behind(planning: Planning, path: str) -> Collection[str]:
    """Return what waits for a step that is done with all that is in it; its block may be done by that."""
    if planning.definition.node(path).kind is NodeKind.BRANCH:
        return _behind(planning, block_of(path))
    followers = planning.definition.needed_by(path)
    block = block_of(path)
    if block and not followers:
        _guarded(planning, block, partial(_close_if_done, planning, block))
    return followers


def _close_if_done(planning: Planning, block: str) -> None:
    kind = planning.definition.node(block).kind
    branch = planning.look(block).kept["branch"] if kind is NodeKind.SWITCH else BODY
    if not all(planning.is_done(path) for path in planning.definition.last(block, branch)):
        return
    match kind:
        case NodeKind.REPEAT:
            repeat.close_iteration(planning, block)
        case NodeKind.SWITCH:
            node_kinds.close_switch(planning, block)
        case _:
            planning.move(block, StepState(StepStatus.SUCCEEDED))


def _guarded(planning: Planning, path: str, act: Callable[[], None]) -> None:
    """Do it; an expression that cannot be evaluated, or a value that does not fit, fails the step."""
    try:
        act()
    except (ExpressionError, ParamsError, ReceiptsError) as error:
        wrong = step_error(error)
        failed = StepState(StepStatus.FAILED_TERMINAL, error=wrong.message, error_code=wrong.code)
        planning.move(path, failed)


def _halt_if_failed(planning: Planning) -> None:
    if failed := planning.failed():
        planning.cancel_rest(f"step {failed[0]} failed")


def _is_free(planning: Planning, path: str) -> bool:
    if planning.look(path).status is not StepStatus.PENDING:
        return False
    needs = planning.definition.needs(path)
    if any(planning.steps[need].status not in DONE for need in needs if need in planning.steps):
        return False
    if missing := frozenset(needs).difference(planning.steps):
        raise NotLoadedError(missing)
    beside = block_of(path)  # what stands around it had ended before it was entered
    return all(planning.is_done(need) for need in needs if block_of(need) == beside)


def _start(planning: Planning, path: str) -> None:
    context = context_of(planning, path)
    reason = _reason_to_skip(planning, path, context)
    if reason:
        planning.move(path, StepState(StepStatus.SKIPPED, error=reason))
    else:
        START[planning.definition.node(path).kind](planning, path, context)


def _reason_to_skip(planning: Planning, path: str, context: Context) -> str:
    when = planning.definition.node(path).when
    if when is not None:
        return "" if evaluate_condition(when, context) else f"not so: {when}"
    needs = planning.definition.skips_with(path)
    skipped = [need for need in needs if planning.steps[need].status is StepStatus.SKIPPED]
    return f"{skipped[0]} was skipped" if skipped else ""


def _give_output(planning: Planning) -> None:
    """Say what the run gives: what its `end` says, or what its definition does; an error there fails nothing."""
    transition, output = planning.transition, planning.definition.output
    if transition.ended is not None:
        transition.output, transition.has_output = transition.ended.result, transition.ended.has_result
    elif output is not None:
        states = planning.look_all(tuple(sorted(steps_of(references_in(output)))))
        steps = {path: {"status": str(state.status), "result": state.result} for path, state in states.items()}
        trigger, facts = planning.snapshot.trigger, run_facts(planning)
        try:
            context = {"trigger": trigger, "steps": steps, "run": facts, "state": planning.state}
            context["approvals"] = approvals_of(planning.snapshot.signers, steps)
            known = {PINNED: planning.definition.functions, EVALUATED: planning.snapshot.evaluated}
            given = render(output, {**context, **known})
            expect_kept(given, "output")
            transition.output, transition.has_output = given, True
        except (ExpressionError, ParamsError, ReceiptsError) as error:
            transition.output_error = f"output: {str(error).removeprefix('output: ')}"


NEEDS_READ = 32
"""Of a step that needs more than these, most others wait for something else as well: the rest is read if it must be."""


def reach(definition: Definition, event: Event) -> frozenset[str] | None:
    """Return the steps that planning `event` will look at, as far as one can say before; None: all of them."""
    if not isinstance(event, StepMoved | StepRepaired) or _ends_the_run(definition, event):
        return None
    own = definition.needs(event.path) if isinstance(event, StepRepaired) else ()
    followers = freed_by(definition, event)
    needs = list(chain.from_iterable(_some_needs(definition, follower, event.path) for follower in followers))
    branches = (inside(path, branch) for path in (event.path, *needs) for branch in definition.branches(path))
    return frozenset({event.path, *own, *followers, *needs, *branches, *_holders(event.path)})


def reach_on(definition: Definition, loaded: frozenset[str], missing: frozenset[str], depth: int) -> frozenset[str]:
    """Return what to load where the plan went on to `missing` steps: with them, `depth` rows of what follows."""
    found, row = set(loaded | missing), set(missing)
    for _ in range(depth):
        row = {follower for path in row for follower in definition.needed_by(path)}
        found |= row.union(*(definition.needs(path) for path in row))
    return frozenset(found)


def _ends_the_run(definition: Definition, event: StepMoved | StepRepaired) -> bool:
    if isinstance(event, StepRepaired):
        return event.act is RepairAction.END
    failed = event.status is StepStatus.FAILED_TERMINAL
    return failed and not definition.branches(event.path) and not definition.node(event.path).needs_attention


def _holders(path: str) -> Iterable[str]:
    """Yield the steps in which a step stands, and the iteration behind each of its iterations."""
    for holder in around(path) if "." in path else ():
        yield holder
        if number := iterated(holder):
            yield iteration(number[0], number[1] + 1)


def _some_needs(definition: Definition, path: str, moved: str) -> Iterable[str]:
    """Return some of a step's needs, those behind the one that moved first: steps tend to end in their order."""
    needs = definition.needs(path)
    if len(needs) <= NEEDS_READ:
        return needs
    place = needs.index(moved)
    return islice(chain(needs[place:], needs), NEEDS_READ)


def steps_after(steps: Mapping[str, StepState], transition: Transition) -> dict[str, StepState]:
    """Return a run's steps once a plan is carried out; those that it enters come last."""
    after = dict(steps)
    for path, state in transition.steps.items():
        kept = steps[path].kept if path in steps and state.kept is None else state.kept
        after[path] = replace(state, kept=kept)
    for path, kept in transition.kept.items():
        after[path] = replace(after[path], kept=kept)
    return after


def snapshot_after(snapshot: Snapshot, transition: Transition) -> Snapshot:
    """Return the snapshot once a plan is carried out, as far as plans alone say it: the run goes on."""
    return replace(
        snapshot,
        status=RunStatus.RUNNING,  # what it waits for others say
        steps=steps_after(snapshot.steps, transition),
        state=snapshot.state if transition.state is None else transition.state,
        reference=snapshot.reference if transition.reference is None else transition.reference,
    )


def begin(
    definition: Definition, run: Mapping[str, Any], about: str, evaluated: Mapping[str, Outcome]
) -> tuple[Snapshot, Sequence[Proposal]]:
    """Return a run, by the row that it would have, as it begins, and the effects that it begins with.

    Raise NotEvaluatedError where that takes what a costly expression gives.
    """
    queued = Snapshot(
        run["run_id"],
        run["tenant"],
        RunStatus.QUEUED,
        run["trigger"],
        {path: StepState(StepStatus.PENDING) for path in definition.block("")},
        started_at=timestamp(run["created_at"]),
        reference=about,
        evaluated=evaluated,
    )
    transition = plan(definition, queued, Started())
    return snapshot_after(queued, transition), transition.proposals


def ends_by_denial(definition: Definition, begun: Snapshot, path: str) -> bool:
    """Return whether the run fails where policy denies a step; not where the runbook says how it goes on then."""
    denied = StepMoved(path, StepStatus.FAILED_TERMINAL, error_code=ErrorCode.DENIED)
    return plan(definition, begun, denied).run is RunStatus.FAILED_TERMINAL
