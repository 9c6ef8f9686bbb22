"""Entities: definitions, changes without a database, and the examples of the page.

Changes of entities, decided without a database: what is asked, what follows, and what the way back is.

Entities of packs: loaded whole or not at all, and no verb is about one that is not sound.

The page about entities: its examples load together, and it names every operation and every reserved word.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.definitions.entities import RESERVED, Entity, Operation
from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.schemas import violations
from runtime.handlers import Call, JsonObject, RefusedError, TransientError
from runtime.outbox.entities import Change, State, applied, asked, entity_handlers, told
from tests.unit.test_definitions_catalog import GOOD, HANDLERS, load, pack, runbook

THING = Entity(
    "thing",
    "A thing",
    "name",
    {
        "type": "object",
        "required": ["name", "size"],
        "additionalProperties": False,
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}, "note": {"type": "string"}},
    },
)
SMALL = State(3, deleted=False, fields={"name": "a", "size": 1})
GONE = State(4, deleted=True, fields={"name": "a", "size": 1})


def change(operation: str, expected: int | None = None, **fields: Any) -> Change:
    return Change(THING, Operation(operation), "a", fields, expected)


def call(target: str = "thing:a", **params: Any) -> Call:
    return Call("acme", "run-1", "step", "execute", {"entity": "thing", **params}, target, "k1")


def test_what_is_given_takes_the_place_of_what_was_there() -> None:
    after = applied(change("update", size=2, note="x"), SMALL, None)
    assert after == State(4, deleted=False, fields={"name": "a", "size": 2, "note": "x"})
    assert told(change("update", size=2, note="x"), SMALL, after) == {
        "version": 4,
        "deleted": False,
        "before": {"size": 1, "note": None},
        "after": {"size": 2, "note": "x"},
    }


def test_null_takes_a_field_away() -> None:
    noted = State(3, deleted=False, fields={"name": "a", "size": 1, "note": "x"})
    assert applied(change("update", note=None), noted, None).fields == {"name": "a", "size": 1}


VALUES = st.fixed_dictionaries({}, optional={"size": st.integers(), "note": st.none() | st.text()})


@given(kept=st.fixed_dictionaries({"size": st.integers()}, optional={"note": st.text()}), given_=VALUES)
def test_the_values_before_given_back_are_the_way_back(kept: JsonObject, given_: JsonObject) -> None:
    first = State(1, deleted=False, fields={"name": "a", **kept})
    forward = Change(THING, Operation.UPDATE, "a", given_, None)
    second = applied(forward, first, None)
    back = Change(THING, Operation.UPDATE, "a", told(forward, first, second)["before"], None)
    assert applied(back, second, None).fields == first.fields


def test_a_deleted_one_keeps_its_fields_and_can_be_restored() -> None:
    deleted = applied(change("delete"), SMALL, None)
    assert deleted == GONE
    assert applied(change("restore"), deleted, None) == State(5, deleted=False, fields=SMALL.fields)


@pytest.mark.parametrize(
    ("asked_", "present", "said"),
    [
        (change("create", size=1), SMALL, "thing:a is there already"),
        (change("create", size=1), GONE, "thing:a was deleted"),
        (change("update", size=1), None, "there is no thing:a"),
        (change("update", size=1), GONE, "thing:a was deleted"),
        (change("delete"), None, "there is no thing:a"),
        (change("delete"), GONE, "thing:a was deleted"),
        (change("restore"), SMALL, "thing:a is not deleted"),
        (change("create"), None, "thing:a: the whole: 'size' is a required property"),
        (change("update", size="2"), SMALL, "thing:a: size: '2' is not of type 'integer'"),
        (change("update", size=None), SMALL, "thing:a: the whole: 'size' is a required property"),
        (change("update", 2, size=2), SMALL, "thing:a is at version 3, not at 2: somebody has changed it"),
    ],
)
def test_what_does_not_fit_the_entity_is_refused(asked_: Change, present: State | None, said: str) -> None:
    with pytest.raises(RefusedError) as caught:
        applied(asked_, present, None)
    assert str(caught.value) == said


def test_what_was_changed_since_it_was_looked_at_is_looked_at_anew() -> None:
    assert applied(change("update", size=2), SMALL, {"version": 3}).version == 4
    with pytest.raises(TransientError, match="was changed since it was looked at"):
        applied(change("update", size=2), SMALL, {"version": 2})


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (call(entity="thong", operation="update", name="a"), "no pack declares the entity 'thong'"),
        (call(operation="upsert", name="a"), "thing: 'upsert' is none of create, update, delete, restore"),
        (call(operation="update"), "thing: the params have no name"),
        (call(operation="update", name=""), "thing: the params have no name"),
        (call("thing:b", operation="update", name="a"), "the target 'thing:b' is not what would be changed, 'thing:a'"),
    ],
)
def test_a_call_that_is_not_about_its_target_is_refused(bad: Call, said: str) -> None:
    with pytest.raises(RefusedError) as caught:
        asked(bad, {"thing": THING})
    assert str(caught.value) == said


def test_each_thing_that_is_asked_is_in_the_fingerprint() -> None:
    every = [change("update", size=1), change("update", size=2), change("update", 1, size=1), change("create", size=1)]
    assert len({one.digest for one in every}) == len(every)


ENTITY = """entities:
  - name: thing
    description: A thing
    id: name
    schema: {{ required: [{required}], properties: {{ name: {{ type: string }}, size: {{ type: integer }} }} }}
"""
VERB = """verbs:
  - name: resize
    domain: desk
    description: Change how large a thing is
    execution: { kind: sync, handler: "crud::execute", params: { entity: thing, operation: update } }
    effect:
      class: write
      tier: low
      reversible: { by: resize }
      target: "thing:${params.name}"
      idempotency_key: "resize:${run.id}:${step}"
      in_doubt: reconcile
    input_schema: { required: [name, size], properties: { name: { type: string }, size: { type: integer } } }
"""


def test_an_entity_knows_its_fields_and_no_others() -> None:
    entity = load(GOOD).entities["desk_case"]
    case = {"case_id": "6f1c2b9e-4f0d-4f5b-9b57-0a3f6a1d2c44", "status": "open"}
    assert violations(entity.schema, case) == []
    assert violations(entity.schema, {**case, "status": "lost"})
    assert violations(entity.schema, {**case, "colour": "red"})
    assert violations(entity.schema, {**case, "case_id": "6"})


def test_an_entity_that_is_declared_twice_is_none(tmp_path: Path) -> None:
    text = ENTITY.format(required="name")
    catalog = load(pack(tmp_path, entities_one=text, entities_two=text))
    assert [problem.code for problem in catalog.problems] == ["duplicate"]
    assert catalog.problems[0].message == f"the entity 'thing' is declared already in {tmp_path}/entities/one.yaml:2"
    assert catalog.entities == {}


def test_a_file_that_would_be_passed_over_is_a_problem(tmp_path: Path) -> None:
    pack(tmp_path, entities_one=ENTITY.format(required="name"))
    (tmp_path / "entities/two.yml").write_text("", encoding="utf-8")
    assert [problem.code for problem in load(tmp_path).problems] == ["pack"]


@pytest.mark.parametrize("required", ["size", "nmae"])
def test_nothing_starts_whose_verb_is_about_an_entity_that_is_not_sound(tmp_path: Path, required: str) -> None:
    step = runbook(verb="resize").replace("lei: LEI40000000000000000", "name: a, size: 3")
    sound = pack(tmp_path / "sound", entities_x=ENTITY.format(required="name"), verbs_x=VERB, runbooks_x=step)
    assert load_catalog([sound], HANDLERS).latest("probe") is not None
    wrong = pack(tmp_path / "wrong", entities_x=ENTITY.format(required=required), verbs_x=VERB, runbooks_x=step)
    catalog = load_catalog([wrong], HANDLERS)
    assert "the entity 'thing' is invalid itself" in [problem.message for problem in catalog.problems]
    assert catalog.latest("probe") is None


PAGE = (Path(__file__).parents[2] / "docs" / "entities.md").read_text(encoding="utf-8")
ENTITIES, VERBS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_have_no_problems_and_no_warnings(tmp_path: Path) -> None:
    nobody: Any = None
    catalog = load_catalog([pack(tmp_path, entities_x=ENTITIES, verbs_x=VERBS)], entity_handlers(nobody, {}))
    assert (catalog.problems, catalog.warnings) == ((), ())
    assert list(catalog.entities) == ["desk_case"]


def test_the_page_names_every_operation_and_every_word_that_is_no_field() -> None:
    assert re.findall(r"^\| `(\w+)` \| the id", PAGE, re.MULTILINE) == [*Operation]
    said = next(line for line in PAGE.splitlines() if line.startswith("| `schema` "))
    assert set(re.findall(r"`(\w+)`", said)) - {"schema"} == RESERVED
