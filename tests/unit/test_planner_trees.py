"""The planner over trees: properties of random runbooks with branches, switches, repeats, waits and ends."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.loading.runbooks import load_runbook
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import Definition
from runtime.definitions.nodes import MAX_ITERATIONS
from runtime.model.run import RepairAction, StepState
from runtime.model.states import RUN, STEP, RunStatus, StepStatus, is_final
from runtime.model.steps import ErrorCode, address_of, around
from runtime.planning.plan_builder import DONE, branch_taken
from runtime.planning.planner import plan
from runtime.planning.run_endings import ending_of
from runtime.planning.transition import Canceled, Ended, Event, Snapshot, Started, StepMoved, StepRepaired, Transition
from tests.unit.test_planner import READ, WRITE, plan_in_parts

some = settings(max_examples=40)
"""A tree has dozens of steps, and is played to its end: that takes long, and shows much."""
VERBS = {
    verb.name: replace(verb, input_schema={"type": "object", "properties": {"n": {}}}, output_schema={"type": "object"})
    for verb in (READ, WRITE)
}
Step = dict[str, Any]


class Names:
    """Gives each step of a runbook an id of its own."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"s{self.count}"


NAMES = st.shared(st.builds(Names), key="names")
"""The names of one runbook. Strategies are made once: to make and check them for each step took longest by far."""
CONDITIONS = st.sampled_from([*[{}] * 3, *({"when": when} for when in ("true", "false", "run.version == 1"))])
ON_ERROR = st.sampled_from([{}, {}, {"on_error": "fail"}, {"on_error": "needs_attention"}])
"""What a step may say besides; half of them say nothing."""


@cache
@st.composite
def blocks(draw: st.DrawFn, depth: int) -> list[Step]:
    """Draw the steps of a block; those of an inner one come one after the other."""
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 3))):
        step: Step = {"id": draw(NAMES)(), **draw(kinds(depth)), **draw(CONDITIONS)}
        if "verb" in step or "wait" in step:
            step |= draw(ON_ERROR)
        if len(steps) > 0 and draw(st.booleans()):
            before = draw(st.lists(st.sampled_from([one["id"] for one in steps]), max_size=3, unique=True))
            step["needs"] = sorted(before)
        steps.append(step)
    return steps


@cache
def kinds(depth: int) -> st.SearchStrategy[Step]:
    """Draw what a step is: with others in it only as deep as is said."""
    flat = [st.sampled_from([{"verb": "look"}, {"verb": "do"}]), st.just({"reference": "r:${run.id}"}), pauses()]
    flat.append(st.just({"reference": "${int(run.id)}"}))  # it fails as it begins
    if depth:
        inner = blocks(depth - 1)
        flat += [st.just({"end": {"outcome": "enough"}}), branches(inner), switches(inner), repeats(inner)]
    return st.one_of(flat)


@cache
@st.composite
def pauses(draw: st.DrawFn) -> Step:
    heard = draw(st.booleans())
    branch = {"on": {"timeout": draw(blocks(0))}} if draw(st.booleans()) else {}
    return {"wait": {"signal": "word", "timeout": "PT1H"}, **branch} if heard else {"wait": {"for": "PT1H"}}


@st.composite
def branches(draw: st.DrawFn, inner: st.SearchStrategy[list[Step]]) -> Step:
    endings = draw(st.sets(st.sampled_from(["success", "failure", "timeout", "rejected"]), min_size=1))
    on = {ending: draw(inner) for ending in sorted(endings)}
    return {"verb": draw(st.sampled_from(["look", "do"])), "on": on}


@st.composite
def switches(draw: st.DrawFn, inner: st.SearchStrategy[list[Step]]) -> Step:
    cases = [{"when": draw(st.sampled_from(["true", "false"])), "do": draw(inner)} for _ in range(2)]
    return {"switch": {"cases": cases, **({"else": draw(inner)} if draw(st.booleans()) else {})}}


@st.composite
def repeats(draw: st.DrawFn, inner: st.SearchStrategy[list[Step]]) -> Step:
    if draw(st.booleans()):
        return {"repeat": {"until": "index == 1", "at_most": draw(st.integers(1, 3)), "do": draw(inner)}}
    listed = f"${{{list(range(draw(st.integers(0, 3))))}}}"
    at_once = draw(st.integers(1, 3))
    return {"repeat": {"for_each": listed, "at_most_at_once": at_once, "collect": "${index}", "do": draw(inner)}}


@st.composite
def trees(draw: st.DrawFn) -> Definition:
    value = {
        "name": "tree",
        "version": 1,
        "title": "T",
        "trigger": {"type": "t.t", "schema": {}},
        "on_error": draw(st.sampled_from(["fail", "needs_attention", "needs_attention"])),
        "steps": draw(blocks(2)),
    }
    loaded = load_runbook(Source("tree.yaml", value, {}), VERBS)
    assert loaded.definition is not None, [str(problem) for problem in loaded.problems]
    return loaded.definition


def fresh(tree: Definition) -> Snapshot:
    steps = {path: StepState(StepStatus.PENDING) for path in tree.block("")}
    return Snapshot("run_1", "acme", RunStatus.QUEUED, {}, steps)


def after(tree: Definition, snapshot: Snapshot, transition: Transition) -> Snapshot:
    """Return the snapshot as the store would load it after the transition."""
    steps = dict(snapshot.steps)
    for path, state in transition.steps.items():
        assert (path in transition.entered) == (path not in steps)
        kept = steps[path].kept if path in steps and state.kept is None else state.kept
        steps[path] = replace(state, kept=kept)
    for path, kept in transition.kept.items():
        steps[path] = replace(steps[path], kept=kept)
    return replace(
        snapshot,
        status=transition.run,
        steps={path: steps[path] for path in tree.in_order(steps)},
        state=snapshot.state if transition.state is None else transition.state,
        reference=snapshot.reference if transition.reference is None else transition.reference,
    )


def waiting(tree: Definition, snapshot: Snapshot) -> list[str]:
    """Return the steps for which something outside has to happen, or about which a person has to say something."""
    return [
        path
        for path, state in snapshot.steps.items()
        if state.status in (StepStatus.READY, StepStatus.NEEDS_ATTENTION)
        or (state.status is StepStatus.PARKED and "wait" in tree.node(path).kind and not path.endswith("]"))
    ]


FAILURES = st.sampled_from([ErrorCode.REFUSED, ErrorCode.NO_ANSWER, ErrorCode.REJECTED])


def happens(data: st.DataObject, snapshot: Snapshot, path: str) -> Event:
    if snapshot.steps[path].status is StepStatus.NEEDS_ATTENTION:
        return StepRepaired(path, data.draw(st.sampled_from(sorted(RepairAction))), "seen", {})
    if data.draw(st.integers(0, 3)):
        return StepMoved(path, StepStatus.SUCCEEDED, {})
    return StepMoved(path, StepStatus.FAILED_TERMINAL, None, "why", data.draw(FAILURES))


def play(tree: Definition, data: st.DataObject) -> list[tuple[Snapshot, Event, Transition]]:
    """Play a run to its end in any order of answers; return what was planned, on what."""
    snapshot, played = fresh(tree), list[tuple[Snapshot, Event, Transition]]()
    event: Event = Started()
    while True:
        transition = plan(tree, snapshot, event)
        played.append((snapshot, event, transition))
        snapshot = after(tree, snapshot, transition)
        if is_final(RUN, snapshot.status):
            assert all(is_final(STEP, state.status) for state in snapshot.steps.values())
            return [*played, (snapshot, event, Transition(snapshot.status))]
        path = data.draw(st.sampled_from(waiting(tree, snapshot)))
        event = happens(data, snapshot, path)


@some
@given(trees(), st.data())
def test_every_run_ends_and_succeeds_only_if_all_went_well_or_it_was_told_to_end(
    tree: Definition, data: st.DataObject
) -> None:
    played = play(tree, data)
    last = played[-1][0]
    ended = any(transition.ended for _, _, transition in played)
    well = {state.status for state in last.steps.values()} <= DONE
    assert (last.status is RunStatus.SUCCEEDED) == (well or ended)
    assert last.status in (RunStatus.SUCCEEDED, RunStatus.FAILED_TERMINAL)


@some
@given(trees(), st.data())
def test_a_failure_wins_over_an_end(tree: Definition, data: st.DataObject) -> None:
    for snapshot, _, transition in play(tree, data)[:-1]:
        last = after(tree, snapshot, transition).steps
        is_ended = any(tree.node(path).kind == "end" and one.status in DONE for path, one in transition.steps.items())
        if any(state.status is StepStatus.FAILED_TERMINAL for state in last.values()):
            assert (transition.run, transition.ended, transition.output) == (RunStatus.FAILED_TERMINAL, None, None)
            assert not is_ended


def at_once(beside: Step) -> tuple[Definition, Transition]:
    """Plan the beginning of a run in which an `end` and another step may begin at once."""
    steps = [{"id": "a", "end": {"outcome": "enough"}}, {"id": "b", **beside}]
    value = {"name": "t", "version": 1, "title": "T", "trigger": {"type": "t.t", "schema": {}}, "steps": steps}
    tree = load_runbook(Source("t.yaml", value, {}), VERBS).definition
    assert tree is not None
    return tree, plan(tree, fresh(tree), Started())


def test_what_fails_beside_an_end_fails_the_run_whatever_their_names_are() -> None:
    tree, transition = at_once({"reference": "${int(run.id)}"})
    assert (transition.run, transition.steps["a"].status) == (RunStatus.FAILED_TERMINAL, StepStatus.CANCELED)
    (failed,) = ending_of(tree, transition.run, transition.steps).failed
    assert failed.step == "b"


@pytest.mark.parametrize(
    ("mended", "status"),
    [
        ({"on_error": "needs_attention"}, StepStatus.CANCELED),
        ({"on": {"failure": [{"id": "c", "verb": "look"}]}}, StepStatus.FAILED_HANDLED),
    ],
)
def test_a_failure_that_is_held_or_handled_leaves_the_end_its_word(mended: Step, status: StepStatus) -> None:
    _, transition = at_once({"verb": "look", "params": {"n": "${int(run.id)}"}, **mended})
    assert (transition.run, transition.ended) == (RunStatus.SUCCEEDED, Ended("enough", None))
    assert transition.steps["b"].status is status


def wishes(transition: Transition) -> list[str]:
    """Return the steps that want something of the world."""
    return [
        *(one.path for one in transition.proposals),
        *(one.path for one in transition.reads),
        *(one.path for one in transition.timers),
        *(one.path for one in transition.signals),
    ]


@some
@given(trees(), st.data())
def test_nothing_is_wanted_twice_but_on_a_persons_word(tree: Definition, data: st.DataObject) -> None:
    played = play(tree, data)
    wanted = Counter(wish for _, _, transition in played for wish in wishes(transition))
    asked = Counter(event.path for _, event, _ in played if isinstance(event, StepRepaired))
    assert all(times <= 1 + asked[wish] for wish, times in wanted.items())


@some
@given(trees(), st.data())
def test_a_step_is_held_only_where_its_runbook_says_so_and_only_a_person_lets_it_go_on(
    tree: Definition, data: st.DataObject
) -> None:
    for snapshot, event, transition in play(tree, data):
        moved = {path for path, state in transition.steps.items() if not is_final(STEP, state.status)}
        for path, state in snapshot.steps.items():
            assert state.status is not StepStatus.NEEDS_ATTENTION or tree.node(path).needs_attention
            if state.status is StepStatus.NEEDS_ATTENTION and path in moved:
                assert isinstance(event, StepRepaired)
                assert event.path == path


@some
@given(trees(), st.data())
def test_a_late_answer_about_a_held_step_changes_nothing(tree: Definition, data: st.DataObject) -> None:
    for snapshot, _, _ in play(tree, data):
        for path in (one for one, state in snapshot.steps.items() if state.status is StepStatus.NEEDS_ATTENTION):
            late = plan(tree, snapshot, StepMoved(path, StepStatus.SUCCEEDED, {}))
            assert (late.steps, late.run) == ({}, snapshot.status)


@some
@given(trees(), st.data())
def test_a_run_is_held_only_where_nothing_else_is_to_be_done(tree: Definition, data: st.DataObject) -> None:
    for snapshot, _, _ in play(tree, data):
        present = {state.status for state in snapshot.steps.values()}
        if snapshot.status is RunStatus.NEEDS_ATTENTION:
            assert StepStatus.NEEDS_ATTENTION in present
            assert not present & {StepStatus.READY, StepStatus.RUNNING, StepStatus.WAITING_APPROVAL}
        elif StepStatus.NEEDS_ATTENTION in present:
            assert present & {StepStatus.READY, StepStatus.RUNNING, StepStatus.WAITING_APPROVAL}


@some
@given(trees(), st.data())
def test_every_step_stands_where_the_definition_has_it_in_steps_that_were_entered(
    tree: Definition, data: st.DataObject
) -> None:
    for snapshot, _, _ in play(tree, data):
        for path in snapshot.steps:
            assert address_of(path) in tree.steps
            assert set(around(path)) <= snapshot.steps.keys()


@some
@given(trees(), st.data())
def test_a_step_starts_once_all_that_it_needs_is_done(tree: Definition, data: st.DataObject) -> None:
    for snapshot, _, transition in play(tree, data):
        later = after(tree, snapshot, transition).steps
        for wish in wishes(transition):
            beside = set(tree.needs(wish)) - set(around(wish))
            assert all(is_done(tree, later, need) for need in beside)


def is_done(tree: Definition, steps: Mapping[str, StepState], path: str) -> bool:
    taken = branch_taken(tree, path, steps[path])
    return steps[path].status in DONE and (taken is None or steps[f"{path}.{taken}"].status in DONE)


@some
@given(trees(), st.data())
def test_at_most_one_branch_of_an_ending_and_one_case_of_a_switch_are_taken(
    tree: Definition, data: st.DataObject
) -> None:
    last = play(tree, data)[-1][0]
    taken: dict[str, set[str]] = {}
    for path in last.steps:
        node = tree.node(path)
        if node.kind == "branch":
            taken.setdefault(path.rpartition(".")[0], set()).add(path)
        elif node.branch.startswith("case_") or node.branch == "else":
            taken.setdefault(path.rpartition(".")[0], set()).add(node.branch)
    assert all(len(branches) == 1 for branches in taken.values())


@some
@given(trees(), st.data())
def test_the_plan_of_what_an_event_reaches_is_the_plan_of_the_whole_run(tree: Definition, data: st.DataObject) -> None:
    for snapshot, event, transition in play(tree, data)[:-1]:
        assert plan_in_parts(tree, snapshot, event)[0] == transition
        assert plan_in_parts(tree, snapshot, Canceled("no"))[0] == plan(tree, snapshot, Canceled("no"))


@some
@given(trees(), st.data())
def test_a_run_played_again_is_planned_alike(tree: Definition, data: st.DataObject) -> None:
    for snapshot, event, transition in play(tree, data)[:-1]:
        assert plan(tree, snapshot, event) == transition


@some
@given(trees())
def test_a_tree_is_its_canonical_form(tree: Definition) -> None:
    assert from_canonical(dumps(definition_document(tree))) == tree


def test_a_long_repeat_looks_at_a_few_steps_for_each_iteration() -> None:
    step = {"id": "each", "repeat": {"for_each": "${trigger.items}", "do": [{"id": "look", "verb": "look"}]}}
    value = {"name": "t", "version": 1, "title": "T", "trigger": {"type": "t.t", "schema": {}}, "steps": [step]}
    tree = load_runbook(Source("t.yaml", value, {}), VERBS).definition
    assert tree is not None
    snapshot = replace(fresh(tree), trigger={"items": list(range(MAX_ITERATIONS))})
    snapshot = after(tree, snapshot, plan(tree, snapshot, Started()))
    assert len(snapshot.steps) == MAX_ITERATIONS + 2
    _, loaded = plan_in_parts(tree, snapshot, StepMoved("each[0].look", StepStatus.SUCCEEDED, {}))
    assert loaded == [4]


def test_what_needs_two_waits_for_the_branch_of_one_though_the_other_ended_later() -> None:
    slow = {"id": "slow", "verb": "look", "on": {"failure": [{"id": "mend", "verb": "look"}]}}
    steps = [slow, {"id": "fast", "verb": "look"}, {"id": "both", "verb": "look", "needs": ["slow", "fast"]}]
    value = {"name": "t", "version": 1, "title": "T", "trigger": {"type": "t.t", "schema": {}}, "steps": steps}
    tree = load_runbook(Source("t.yaml", value, {}), VERBS).definition
    assert tree is not None
    snapshot = after(tree, fresh(tree), plan(tree, fresh(tree), Started()))
    failed = StepMoved("slow", StepStatus.FAILED_TERMINAL, None, "no", ErrorCode.REFUSED)
    for event in (failed, StepMoved("fast", StepStatus.SUCCEEDED, {})):
        snapshot = after(tree, snapshot, plan(tree, snapshot, event))
        assert snapshot.steps["both"].status is StepStatus.PENDING
    snapshot = after(tree, snapshot, plan(tree, snapshot, StepMoved("slow.failure.mend", StepStatus.SUCCEEDED, {})))
    assert snapshot.steps["both"].status is StepStatus.READY
