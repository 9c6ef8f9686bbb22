"""Canonical definitions: one form for each runbook, and the diff of two versions.

The canonical form: the same for every way of writing a runbook, and enough to execute it.

What changes between two versions: nothing that is the same, everything that is not, each at its place.
"""

import json
import random
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts.canonical import digest, dumps, loads
from runtime.definitions.canonical import CanonicalDefinitionError, definition_document, from_canonical
from runtime.definitions.diff import Change, _walk, changes, summary
from runtime.definitions.loading.node_shapes import RemindShape
from runtime.definitions.loading.runbooks import load_runbook
from runtime.definitions.loading.step_tree import edges_between, order_of
from runtime.definitions.loading.timing import declared_reminders
from runtime.definitions.loading.verbs import load_verbs
from runtime.definitions.loading.yaml_source import parse_source
from runtime.definitions.model import Definition, Edge, EdgeKind, Verb
from runtime.model.wait import Correlate, OnInvalid
from tests.unit.test_definitions_catalog import GOOD, load

VERB = {
    "name": "link",
    "domain": "test",
    "description": "Takes anything and gives anything",
    "execution": {
        "kind": "durable",
        "handler": "timer::wait",
        "wait": "timer",
        "timeout": "P2W",
        "escalation": {"after": "PT36H", "to": ["compliance"]},
        "retry": {"max_attempts": 3, "backoff": "exponential", "base_delay": "PT0.5S", "max_delay": "PT60S"},
    },
    "effect": {"class": "read"},
    "input_schema": {"properties": {"on": {}}, "additionalProperties": {}},
}


def verbs() -> dict[str, Verb | None]:
    loaded, problems = load_verbs(parse_source(json.dumps({"verbs": [VERB]}).encode(), "verbs.yaml"), {})
    assert not problems
    assert [problem for verb in loaded for problem in verb.problems] == []
    return {verb.name: verb.verb for verb in loaded}


VERBS = verbs()


TEXTS = st.text(alphabet="ab 1ä漢🙂-:#{}'\"\\", max_size=8)


@st.composite
def runbooks(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a runbook whose steps need only steps with a smaller number, by reference, by condition or by `needs`."""
    steps = []
    for number in range(draw(st.integers(1, 7))):
        step: dict[str, Any] = {
            "id": f"s{number}",
            "verb": "link",
            "params": {"on": draw(TEXTS)},
        }
        for earlier in range(number):
            how = draw(st.sampled_from(["no", "no", "needs", "param", "when"]))
            if how == "needs":
                step.setdefault("needs", []).append(f"s{earlier}")
            elif how == "param":
                step["params"][f"p{earlier}"] = f"${{steps.s{earlier}.result}}"
            elif how == "when":
                step["when"] = f"steps.s{earlier}.status == 'succeeded'"
        steps.append(step)
    trigger = {"type": "test.go", "schema": {"properties": {"x": {"type": "uuid"}}}}
    return {"name": "probe", "version": 3, "title": "Probe", "trigger": trigger, "steps": steps}


def load_text(document: dict[str, Any]) -> Definition:
    loaded = load_runbook(parse_source(json.dumps(document, ensure_ascii=False).encode(), "r.yaml"), VERBS)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.definition is not None
    return loaded.definition


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return the same document with its keys, steps and needs written in another order."""
    if isinstance(value, dict):
        names = chance.sample(list(value), len(value))
        return {name: shuffled(value[name], chance) for name in names}
    if isinstance(value, list):
        return [shuffled(member, chance) for member in chance.sample(value, len(value))]
    return value


@given(runbooks(), st.randoms(use_true_random=False))
def test_canonical_form_does_not_depend_on_the_order_of_writing(
    document: dict[str, Any], chance: random.Random
) -> None:
    assert load_text(shuffled(document, chance)).canonical == load_text(document).canonical


@given(runbooks())
def test_definition_reads_back_from_its_canonical_form(document: dict[str, Any]) -> None:
    definition = load_text(document)
    again = from_canonical(definition.canonical)
    assert again == definition
    assert dumps(definition_document(again)) == definition.canonical
    assert definition.digest == digest(loads(definition.canonical))


@given(runbooks())
def test_needs_are_acyclic_and_come_before_what_needs_them(document: dict[str, Any]) -> None:
    definition = load_text(document)
    seen: set[str] = set()
    for path in definition.steps:
        assert seen.issuperset(definition.needs(path))
        seen.add(path)
    assert len(seen) == len(document["steps"])


def test_durations_have_one_spelling() -> None:
    verb = load_text({**minimal(), "steps": [step("a")]}).verbs["link"]
    document = json.loads(load_text(minimal()).canonical)["verbs"]["link"]["execution"]
    assert (document["timeout"], document["escalation"][0]["after"]) == ("P14D", "P1DT12H")
    assert document["retry"] == {
        "backoff": "exponential",
        "base_delay": "PT0.5S",
        "max_attempts": 3,
        "max_delay": "PT1M",
    }
    assert verb == VERBS["link"]


def minimal() -> dict[str, Any]:
    trigger: dict[str, Any] = {"type": "test.go", "schema": {}}
    return {"name": "probe", "version": 1, "title": "Probe", "trigger": trigger, "steps": [step("a")]}


def step(name: str) -> dict[str, Any]:
    return {"id": name, "verb": "link", "params": {}}


def test_any_change_in_meaning_changes_the_digest() -> None:
    digests = {
        load_text(minimal()).digest,
        load_text({**minimal(), "version": 2}).digest,
        load_text({**minimal(), "title": "Other"}).digest,
        load_text({**minimal(), "steps": [step("b")]}).digest,
        load_text({**minimal(), "steps": [{**step("a"), "when": "true"}]}).digest,
    }
    assert len(digests) == 5


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{}", "'format'"),
        (b"[]", "list indices must be integers or slices, not str"),
        (b"{ }", "JSON, but not in canonical form (RFC 8785)"),
        (b"{", "not JSON"),
    ],
)
def test_bytes_that_are_no_definition_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CanonicalDefinitionError, match="not a canonical definition") as refused:
        from_canonical(data)
    assert reason in str(refused.value)


def test_unknown_member_and_unknown_format_are_refused() -> None:
    document = loads(load_text(minimal()).canonical)
    with pytest.raises(CanonicalDefinitionError, match="members that are not known"):
        from_canonical(dumps({**document, "extra": 1}))
    for other in ("other", "countersign/definition/2"):
        with pytest.raises(CanonicalDefinitionError, match=f"the format is '{other}', expected 'countersign/defin"):
            from_canonical(dumps({**document, "format": other}))


def test_the_rules_for_answers_stand_in_it_only_where_they_differ() -> None:
    document = loads(load_text(minimal()).canonical)
    execution = document["verbs"]["link"]["execution"]
    assert execution.keys().isdisjoint({"correlate", "on_invalid"}), (
        "what was made before they existed keeps its digest"
    )
    execution |= {"correlate": "by_key", "on_invalid": "fail"}
    verb = from_canonical(dumps(document)).verbs["link"]
    assert (verb.correlate, verb.on_invalid) == (Correlate.BY_KEY, OnInvalid.FAIL)
    execution["correlate"] = "by_token"
    with pytest.raises(CanonicalDefinitionError, match="members that are not known"):
        from_canonical(dumps(document))


def test_how_long_evidence_is_kept_stands_in_it_only_where_it_is_said() -> None:
    assert "evidence" not in loads(load_text(minimal()).canonical), (
        "what was made before there was such a key keeps its digest"
    )
    definition = load_text({**minimal(), "evidence": {"retain": "P52W"}})
    assert loads(definition.canonical)["evidence"] == {"retain": "P364D"}
    assert from_canonical(definition.canonical).retain_days == 364


def test_who_answers_questions_stands_in_it_only_where_it_is_said() -> None:
    assert "questions_to" not in loads(load_text(minimal()).canonical), (
        "what was made before there was such a key keeps its digest"
    )
    definition = load_text({**minimal(), "questions_to": "kyc-desk"})
    assert loads(definition.canonical)["questions_to"] == "kyc-desk"
    assert from_canonical(definition.canonical).questions_to == "kyc-desk"


def test_the_time_of_a_run_stands_in_it_only_where_it_is_said() -> None:
    assert "sla" not in loads(load_text(minimal()).canonical), (
        "what was made before there was such a key keeps its digest"
    )
    definition = load_text({**minimal(), "sla": "P2W"})
    assert loads(definition.canonical)["sla"] == "P14D"
    assert from_canonical(definition.canonical).sla == timedelta(days=14)


@pytest.mark.parametrize(
    "retry",
    [
        {"ladder": ["PT5S", "PT120S"], "jitter": 0},
        {"max_attempts": 7, "factor": 1.5, "base_delay": "PT2S", "max_delay": "PT1M", "jitter": 0.25},
    ],
)
def test_pauses_that_an_author_chose_are_in_it_and_read_as_they_were(retry: dict[str, Any]) -> None:
    verbs = _verbs_with(retry=retry)
    found = load_runbook(parse_source(json.dumps(minimal()).encode(), "r.yaml"), verbs).definition
    assert found is not None
    assert from_canonical(found.canonical).verbs == found.verbs == verbs


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ({"after": "PT36H", "to": ["a"]}, [{"after": "P1DT12H", "to": ["a"]}]),
        ([{"after": "PT36H", "to": ["a"]}], [{"after": "P1DT12H", "to": ["a"]}]),
        ({"after": "P1D", "to": ["a"], "extend": "P1W"}, [{"after": "P1D", "to": ["a"], "extend": "P7D"}]),
        (
            [{"after": "P1D", "to": ["a"]}, {"after": "P2D", "start": "rescue"}],
            [{"after": "P1D", "to": ["a"]}, {"after": "P2D", "start": "rescue"}],
        ),
    ],
)
def test_an_escalation_stands_as_a_list_of_entries(said: Any, stands: Any) -> None:
    verbs = _verbs_with(escalation=said)
    found = load_runbook(parse_source(json.dumps(minimal()).encode(), "r.yaml"), verbs).definition
    assert found is not None
    assert loads(found.canonical)["verbs"]["link"]["execution"]["escalation"] == stands
    assert from_canonical(found.canonical).verbs == found.verbs == verbs


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        (["P1D", "P2D", "P4D"], ["P1D", "P2D", "P4D"]),
        ({"first": "P1D", "factor": 2, "at_most": 3}, ["P1D", "P2D", "P4D"]),
        ({"first": "PT1H", "at_most": 2}, ["PT1H", "PT1H"]),
    ],
)
def test_reminders_stand_as_their_pauses_and_only_where_there_are_any(said: Any, stands: Any) -> None:
    assert "remind" not in loads(load_text(minimal()).canonical)["verbs"]["link"]["execution"]
    shape = RemindShape.model_validate(said) if isinstance(said, dict) else said
    found = load_text(minimal())
    verb = replace(found.verbs["link"], remind=declared_reminders(shape))
    document = definition_document(replace(found, verbs={"link": verb}))
    assert document["verbs"]["link"]["execution"]["remind"] == stands
    assert from_canonical(dumps(document)).verbs == {"link": verb}


def test_how_a_step_waits_stands_in_it_only_where_it_says_so_and_stands_for_the_verbs() -> None:
    asked = [{"after": "PT24H", "to": ["desk"]}, {"after": "P2D", "to": ["board"], "extend": "P1D"}]
    found = load_text({**minimal(), "steps": [step("a"), {**step("b"), "escalation": asked}]})
    plain, own = loads(found.canonical)["steps"]
    assert "escalation" not in plain
    assert own["escalation"] == [{"after": "P1D", "to": ["desk"]}, asked[1]]
    assert from_canonical(found.canonical) == found
    assert [[one.to for one in found.verb_of(name).escalation] for name in "ab"] == [
        [("compliance",)],
        [("desk",), ("board",)],
    ]
    reminding = replace(found.steps["b"], remind=declared_reminders(["P1D", "PT48H"]))
    document = definition_document(replace(found, steps={"b": reminding}))
    assert document["steps"][0]["remind"] == ["P1D", "P2D"]
    assert from_canonical(dumps(document)).steps == {"b": reminding}


def _verbs_with(**execution: Any) -> dict[str, Verb | None]:
    told: Any = {**VERB, "execution": {**VERB["execution"], **execution}}  # type: ignore[dict-item]
    loaded, problems = load_verbs(parse_source(json.dumps({"verbs": [told]}).encode(), "verbs.yaml"), {})
    assert (problems, loaded[0].problems) == ([], ())
    return {"link": loaded[0].verb}


@given(st.data())
def test_changed_bytes_are_refused_or_are_another_definition(data: st.DataObject) -> None:
    good = load_text(minimal()).canonical
    place = data.draw(st.integers(0, len(good) - 1))
    changed = good[:place] + bytes([data.draw(st.integers(0, 255))]) + good[place + 1 :]
    try:
        definition = from_canonical(changed)
    except CanonicalDefinitionError:
        return
    assert (definition.canonical, definition.digest == load_text(minimal()).digest) == (changed, changed == good)


def test_data_edge_wins_over_sequence() -> None:
    edges = edges_between({"b": {"a"}}, {"b": {"a"}, "c": {"a"}})
    assert [(edge.source, edge.target, str(edge.kind)) for edge in edges] == [
        ("a", "b", "data"),
        ("a", "c", "sequence"),
    ]


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"))))
def test_every_step_is_ordered_or_every_cycle_is_real(needs: dict[str, set[str]]) -> None:
    edges = edges_between({}, needs)
    ordered, cycles = order_of("abcdef", edges)
    assert sorted(ordered) == list("abcdef")
    pairs = {(edge.source, edge.target) for edge in edges}
    for cycle in cycles:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert pairs.issuperset(pairwise(cycle))
    if not cycles:
        assert all(ordered.index(source) < ordered.index(target) for source, target in pairs)


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
