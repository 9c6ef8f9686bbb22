"""What changes between two versions: nothing that is the same, everything that is not, each at its place."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from receipts.canonical import dumps
from runtime.definitions.diff import Change, _walk, changes, summary
from runtime.definitions.model import Definition, Edge, EdgeKind
from tests.unit.test_definitions_catalog import GOOD, load

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", "x", "y"]), inner),
    max_leaves=12,
)


def onboarding() -> Definition:
    found = load(GOOD).latest("onboard")
    assert found is not None
    return found


def test_a_version_that_says_the_same_has_no_changes() -> None:
    definition = onboarding()
    assert changes(definition, replace(definition, version=2)) == []


def test_each_change_stands_at_its_place() -> None:
    before = onboarding()
    steps = {path: step for path, step in before.steps.items() if path != "pause"}
    steps["ask"] = replace(steps["ask"], when=None)
    verbs = {**before.verbs, "look_up": replace(before.verbs["look_up"], timeout=timedelta(minutes=2))}
    edges = (Edge("look", "ask", EdgeKind.SEQUENCE),)
    after = replace(before, version=2, title="New", steps=steps, verbs=verbs, edges=edges)
    assert [(change.path, change.kind) for change in changes(before, after)] == [
        ("title", "changed"),
        ("steps.ask.when", "changed"),
        ("steps.pause", "removed"),
        ("verbs.look_up.execution.timeout", "changed"),
        ("edges.look → ask", "changed"),
        ("edges.pause → ask", "removed"),
    ]


def test_of_a_first_version_each_step_and_verb_is_new() -> None:
    found = {change.path: change.kind for change in changes(None, onboarding())}
    assert {"title", "trigger", "steps.look", "steps.pause", "steps.ask", "verbs.look_up"} < found.keys()
    assert set(found.values()) == {"added"}


def test_a_change_is_written_as_a_diff_writes_it() -> None:
    assert Change("title", '"Old"', '"New"').lines() == ['- title: "Old"', '+ title: "New"']
    assert Change("steps.a", None, "{}").lines() == ["+ steps.a: {}"]


def test_a_card_says_how_much_it_leaves_out() -> None:
    found = [Change(f"steps.{number}", None, "1") for number in range(5)]
    assert summary(found, 5) == [f"+ steps.{number}: 1" for number in range(5)]
    assert summary(found, 3)[2:] == ["… 3 more lines: see countersign definitions diff"]
    (line,) = summary([Change("steps.a", None, "x" * 1000)], 5)
    assert len(line) == 401


@given(JSON, JSON)
def test_what_differs_has_a_change_and_what_is_the_same_has_none(before: Any, after: Any) -> None:
    found = list(_walk((), before, after))
    assert bool(found) == (dumps(before) != dumps(after))
    assert all(change.before != change.after for change in found)
