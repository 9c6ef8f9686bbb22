"""The planner: properties over random graphs, and the rules of starting, skipping, failing and ending."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.definitions.model import Definition, Edge, EdgeKind, EffectClass, Kind, Retry, StepDefinition, Verb
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.model.run import StepState
from runtime.model.states import RUN, STEP, IllegalTransitionError, RunStatus, StepStatus, is_final
from runtime.model.steps import ParamsError
from runtime.model.wait import Correlate, OnInvalid
from runtime.planning.planner import NEEDS_READ, plan, reach, reach_on
from runtime.planning.step_params import fits
from runtime.planning.transition import Canceled, Event, NotLoadedError, Snapshot, Started, StepMoved, Transition

READ = Verb(
    name="look",
    domain="d",
    description="",
    kind=Kind.SYNC,
    handler="bench::look",
    static_params={},
    input_schema={"type": "object"},
    output_schema={},
    timeout=timedelta(seconds=5),
    retry=Retry(1, "fixed", timedelta(seconds=1), timedelta(seconds=1)),
    escalation=(),
    effect_class=EffectClass.READ,
    tier=Tier.LOW,
    reversible_by=None,
    target="",
    idempotency_key="",
    in_doubt=OnDoubt.ASK,
    settles_within=None,
    correlation_field=None,
    correlate=Correlate.BY_TOKEN,
    on_invalid=OnInvalid.REFUSE,
    wait_type=None,
    redact=(),
)
WRITE = replace(
    READ,
    name="do",
    handler="bench::do",
    effect_class=EffectClass.WRITE,
    target="t",
    idempotency_key="${run.id}:${step}",
)


def definition(edges: dict[str, list[str]], whens: dict[str, str] | None = None, verb: Verb = READ) -> Definition:
    """Return a definition of steps that need others."""
    whens = whens or {}
    return Definition(
        name="graph",
        version=1,
        title="",
        trigger_type="t",
        trigger_schema={},
        steps={path: StepDefinition(path, verb.name, {}, whens.get(path)) for path in edges},
        edges=tuple(Edge(need, path, EdgeKind.SEQUENCE) for path, needs in edges.items() for need in needs),
        verbs={verb.name: verb},
        canonical=b"",
        digest="0" * 64,
    )


def fresh(graph: Definition) -> Snapshot:
    return Snapshot(
        "run_1", "acme", RunStatus.QUEUED, {}, {path: StepState(StepStatus.PENDING) for path in graph.steps}
    )


def after(snapshot: Snapshot, transition: Transition) -> Snapshot:
    return replace(snapshot, status=transition.run, steps={**snapshot.steps, **transition.steps})


@st.composite
def graphs(draw: st.DrawFn) -> Definition:
    """Draw an acyclic graph: a step may need earlier ones."""
    paths = [f"s{i}" for i in range(draw(st.integers(1, 8)))]
    edges = {
        path: draw(st.lists(st.sampled_from(paths[:i]), unique=True, max_size=3)) if i else []
        for i, path in enumerate(paths)
    }
    whens = {path: draw(st.sampled_from(["true", "false"])) for path in paths if draw(st.booleans())}
    return definition(edges, whens, draw(st.sampled_from([READ, WRITE])))


ENDINGS = st.sampled_from(
    [StepStatus.SUCCEEDED, StepStatus.SUCCEEDED, StepStatus.SUCCEEDED, StepStatus.FAILED_TERMINAL]
)


def _moves(ending: StepStatus, path: str) -> list[StepMoved]:
    return [StepMoved(path, StepStatus.RUNNING), StepMoved(path, ending, {"value": 1}, "")]


def play(graph: Definition, data: st.DataObject) -> list[Snapshot]:
    """Play a run to its end in any order of answers; return every snapshot on the way."""
    snapshots = [fresh(graph)]
    snapshots.append(after(snapshots[-1], plan(graph, snapshots[-1], Started())))
    while free := [path for path, state in snapshots[-1].steps.items() if state.status is StepStatus.READY]:
        for move in _moves(data.draw(ENDINGS), data.draw(st.sampled_from(free))):
            snapshots.append(after(snapshots[-1], plan(graph, snapshots[-1], move)))
    return snapshots


@given(graphs(), st.data())
def test_every_run_ends_and_succeeds_only_if_every_step_succeeded_or_was_skipped(
    graph: Definition, data: st.DataObject
) -> None:
    last = play(graph, data)[-1]
    assert is_final(RUN, last.status)
    good = {StepStatus.SUCCEEDED, StepStatus.SKIPPED}
    assert (last.status is RunStatus.SUCCEEDED) == all(state.status in good for state in last.steps.values())
    assert all(is_final(STEP, state.status) for state in last.steps.values())


@given(graphs(), st.data())
def test_no_step_starts_before_all_it_needs_has_ended_well(graph: Definition, data: st.DataObject) -> None:
    for snapshot in play(graph, data):
        for path, state in snapshot.steps.items():
            if state.status in {StepStatus.READY, StepStatus.RUNNING, StepStatus.SUCCEEDED}:
                needs = [snapshot.steps[need].status for need in graph.needs(path)]
                assert all(need in {StepStatus.SUCCEEDED, StepStatus.SKIPPED} for need in needs)


@given(graphs(), st.data())
def test_the_same_snapshot_and_event_give_the_same_plan(graph: Definition, data: st.DataObject) -> None:
    snapshot = play(graph, data)[0]
    assert plan(graph, snapshot, Started()) == plan(graph, snapshot, Started())


@given(graphs(), st.data())
def test_what_has_ended_is_never_moved_again(graph: Definition, data: st.DataObject) -> None:
    last = play(graph, data)[-1]
    for path in graph.steps:
        assert plan(graph, last, StepMoved(path, StepStatus.FAILED_TERMINAL)) == Transition(last.status)


@given(graphs(), st.data())
def test_nothing_that_is_free_is_left_pending(graph: Definition, data: st.DataObject) -> None:
    for snapshot in play(graph, data)[1:]:
        for path, state in snapshot.steps.items():
            needs = {snapshot.steps[need].status for need in graph.needs(path)}
            assert state.status is not StepStatus.PENDING or not needs <= {StepStatus.SUCCEEDED, StepStatus.SKIPPED}


def without(snapshot: Snapshot, paths: frozenset[str] | None) -> Snapshot:
    """Return the snapshot with these steps alone, as the store loads it."""
    if paths is None:
        return snapshot
    others = {state.status for path, state in snapshot.steps.items() if path not in paths}
    return replace(
        snapshot,
        steps={path: state for path, state in snapshot.steps.items() if path in paths},
        others=frozenset(status for status in others if not is_final(STEP, status)),
        whole=False,
    )


def plan_in_parts(graph: Definition, snapshot: Snapshot, event: Event) -> tuple[Transition, list[int]]:
    """Plan as the shell does, with what the event reaches; and return how many steps were loaded each time."""
    paths, depth, loaded = reach(graph, event), 1, list[int]()
    while True:
        part = without(snapshot, paths)
        loaded.append(len(part.steps))
        try:
            return plan(graph, part, event), loaded
        except NotLoadedError as error:
            assert paths is not None, "nothing is missing where all is there"
            paths = None if error.paths is None else reach_on(graph, paths, error.paths, depth)
            depth *= 2


EVENTS = st.sampled_from([*StepStatus])


@given(graphs(), st.data())
def test_the_plan_of_what_an_event_reaches_is_the_plan_of_the_whole_run(graph: Definition, data: st.DataObject) -> None:
    for snapshot in play(graph, data):
        path = data.draw(st.sampled_from(list(graph.steps)))
        for event in (StepMoved(path, data.draw(EVENTS), {"value": 1}, "why"), Canceled("no"), Started()):
            assert outcome(plan, graph, snapshot, event) == outcome(plan_in_parts, graph, snapshot, event)


def outcome(planner: Callable[[Definition, Snapshot, Event], Any], *given_: Any) -> Any:
    """Return the plan, or what speaks against it."""
    try:
        found = planner(*given_)
    except IllegalTransitionError as error:
        return str(error)
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("length", [10, 2000])
def test_a_move_in_a_long_chain_looks_at_three_steps(length: int) -> None:
    chain = {f"s{i:04}": [f"s{i - 1:04}"] if i else [] for i in range(length)}
    graph, middle = definition(chain), length // 2
    states = [StepStatus.SUCCEEDED] * middle + [StepStatus.RUNNING] + [StepStatus.PENDING] * (length - middle - 1)
    steps = {path: StepState(status) for path, status in zip(chain, states, strict=True)}
    snapshot = replace(fresh(graph), status=RunStatus.RUNNING, steps=steps)
    transition, loaded = plan_in_parts(graph, snapshot, StepMoved(f"s{middle:04}", StepStatus.SUCCEEDED))
    assert loaded == [2]
    assert [path for path, state in transition.steps.items() if state.status is StepStatus.READY] == [
        f"s{middle + 1:04}"
    ]


def test_a_move_before_a_wide_join_looks_at_a_part_of_what_the_join_needs() -> None:
    wide = [f"s{i:04}" for i in range(2000)]
    graph = definition({**{path: [] for path in wide}, "join": wide})
    running = after(fresh(graph), plan(graph, fresh(graph), Started()))
    steps = running.steps
    for number, path in enumerate(wide):
        running = replace(running, steps=steps)
        move = StepMoved(path, StepStatus.SUCCEEDED)
        transition, loaded = plan_in_parts(graph, running, move)
        assert sum(loaded) <= NEEDS_READ + 2 or number > len(wide) - NEEDS_READ
        steps = {**steps, **transition.steps}
    assert steps["join"].status is StepStatus.READY


def test_skipping_goes_as_far_as_it_goes() -> None:
    graph = definition({f"s{i:03}": [f"s{i - 1:03}"] if i else [] for i in range(500)}, {"s001": "false"})
    running = after(fresh(graph), plan(graph, fresh(graph), Started()))
    transition, loaded = plan_in_parts(graph, running, StepMoved("s000", StepStatus.SUCCEEDED))
    assert transition.run is RunStatus.SUCCEEDED
    assert len(transition.steps) == 500
    assert len(loaded) <= 11


@given(graphs(), st.data())
def test_each_step_is_proposed_at_most_once(graph: Definition, data: st.DataObject) -> None:
    snapshots = [fresh(graph)]
    proposed: list[str] = []
    event: Any = Started()
    while True:
        transition = plan(graph, snapshots[-1], event)
        proposed += [one.path for one in transition.proposals] + [one.path for one in transition.reads]
        snapshots.append(after(snapshots[-1], transition))
        open_ = [p for p, s in snapshots[-1].steps.items() if s.status in {StepStatus.READY, StepStatus.RUNNING}]
        if not open_:
            break
        path = data.draw(st.sampled_from(open_))
        running = snapshots[-1].steps[path].status is StepStatus.RUNNING
        event = StepMoved(path, StepStatus.SUCCEEDED if running else StepStatus.RUNNING)
    assert len(proposed) == len(set(proposed))


def test_a_cancel_ends_every_step_and_proposes_nothing() -> None:
    graph = definition({"a": [], "b": ["a"]})
    running = after(fresh(graph), plan(graph, fresh(graph), Started()))
    transition = plan(graph, running, Canceled("no longer wanted"))
    assert transition.run is RunStatus.CANCELED
    assert {state.status for state in transition.steps.values()} == {StepStatus.CANCELED}
    assert not transition.reads


def test_what_a_cancel_ends_is_in_the_definitions_order_however_the_steps_were_loaded() -> None:
    graph = definition({"a": [], "b": ["a"], "c": []})
    as_loaded = fresh(graph)
    backwards = replace(as_loaded, steps=dict(reversed(list(as_loaded.steps.items()))))
    assert list(plan(graph, backwards, Canceled("no")).steps) == ["a", "b", "c"]


def test_a_step_after_a_skipped_one_is_skipped_unless_it_has_its_own_condition() -> None:
    graph = definition({"a": [], "b": ["a"], "c": ["a"]}, {"a": "false", "c": "steps.a.status == 'skipped'"})
    transition = plan(graph, fresh(graph), Started())
    assert transition.steps["b"].status is StepStatus.SKIPPED
    assert transition.steps["c"].status is StepStatus.READY


def test_a_condition_that_cannot_be_evaluated_fails_the_step_and_says_why() -> None:
    graph = definition({"a": []}, {"a": "trigger.missing == 1"})
    transition = plan(graph, fresh(graph), Started())
    assert transition.run is RunStatus.FAILED_TERMINAL
    assert "trigger.missing" in transition.steps["a"].error


def test_a_failed_step_cancels_what_was_just_about_to_start() -> None:
    graph = definition({"a": [], "b": []}, {"b": "trigger.missing"}, WRITE)
    transition = plan(graph, fresh(graph), Started())
    assert transition.run is RunStatus.FAILED_TERMINAL
    assert transition.proposals == []
    assert transition.steps["a"].status is StepStatus.CANCELED


def test_a_proposal_has_its_key_from_the_template() -> None:
    graph = definition({"a": []}, verb=WRITE)
    (proposal,) = plan(graph, fresh(graph), Started()).proposals
    assert (proposal.target, proposal.idempotency_key) == ("t", "run_1:a")


def test_params_that_do_not_fit_the_schema_fail_the_step() -> None:
    strict = replace(READ, input_schema={"type": "object", "required": ["what"]})
    graph = definition({"a": []}, verb=strict)
    transition = plan(graph, fresh(graph), Started())
    assert "'what' is a required property" in transition.steps["a"].error


def test_defaults_stand_under_static_params_under_the_steps_own() -> None:
    schema = {"type": "object", "properties": {"a": {"default": 1}, "b": {"default": 1}, "c": {"default": 1}}}
    verb = replace(READ, input_schema=schema, static_params={"b": 2, "c": 2})
    graph = definition({"a": []}, verb=verb)
    graph = replace(graph, steps={"a": StepDefinition("a", "look", {"c": "${1 + 2}"}, None)})
    (read,) = plan(graph, fresh(graph), Started()).reads
    assert read.params == {"a": 1, "b": 2, "c": 3}


def test_every_place_that_does_not_fit_is_named_up_to_what_one_can_read() -> None:
    schema = {"type": "object", "required": ["lei", "name"], "properties": {"age": {"type": "integer"}}}
    with pytest.raises(ParamsError) as refused:
        fits(schema, {"age": "old"}, "payload")
    assert str(refused.value) == (
        "payload: /: 'lei' is a required property; /: 'name' is a required property;"
        " /age: 'old' is not of type 'integer'"
    )
    with pytest.raises(ParamsError, match=r"; and 4 more$"):
        fits({"required": [f"x{number}" for number in range(12)]}, {}, "payload")
