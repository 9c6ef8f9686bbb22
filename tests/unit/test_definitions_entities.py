"""Entities of packs: loaded whole or not at all, and no verb is about one that is not sound."""

from pathlib import Path

import pytest

from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.schemas import violations
from tests.unit.test_definitions_catalog import GOOD, HANDLERS, load, pack, runbook

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
