"""What `editable` may name: plain params that are seen, and of which neither target nor key is made."""

from pathlib import Path

import pytest

from receipts.canonical import loads
from runtime.definitions.canonical import from_canonical
from runtime.definitions.loading.catalog import Catalog, load_catalog
from tests.unit.test_definitions_catalog import HANDLERS, pack, runbook

ANOTHER = "with it, it would be another effect"
_VERB = """\
verbs:
  - name: open_it
    domain: desk
    description: D
    execution: { kind: sync, handler: "tasks::close" }
    effect:
      class: write
      tier: low
      reversible: false
      target: "${params.id}"
      idempotency_key: "KEY"
      in_doubt: ask
    MORE
    redact: [/hidden]
    input_schema:
      required: [id]
      properties:
        id: { type: string }
        days: { type: integer, minimum: 1 }
        kind: { enum: [a, b] }
        when: { type: string, format: date }
        sure: { type: boolean }
        hidden: { type: string }
        api_token: { type: string }
        keyed: { type: string }
        list: { type: array, items: { type: string } }
        any: {}
        either: { anyOf: [{ type: string }, { type: integer }], type: [string, integer] }
    output_schema: {}
"""


def _load(folder: Path, more: str, key: str = "${run.id}:${params.keyed}") -> Catalog:
    step = runbook(verb="open_it").replace("lei: LEI40000000000000000", "id: x, keyed: k")
    text = _VERB.replace("MORE", more).replace("KEY", key)
    return load_catalog([pack(folder, verbs_v=text, runbooks_r=step)], HANDLERS)


def _found(catalog: Catalog) -> list[str]:
    return [f"[{each.code}] {each.path}: {each.message}" for each in catalog.problems]


def test_a_definition_says_which_params_may_be_edited(tmp_path: Path) -> None:
    catalog = _load(tmp_path, "editable: [days, kind, when, sure]")
    assert _found(catalog) == []
    definition = catalog.definitions["probe", 1]
    assert definition.verbs["open_it"].editable == ("days", "kind", "when", "sure")
    assert from_canonical(definition.canonical) == definition


def test_a_verb_of_which_nothing_may_be_edited_has_the_canonical_form_that_it_had(tmp_path: Path) -> None:
    assert "editable" not in loads(_load(tmp_path, "").definitions["probe", 1].canonical)["verbs"]["open_it"]


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("day", "[dangling_reference] verbs[0].editable[0]: 'day': no param of input_schema (did you mean 'days'?)"),
        ("hidden", "[rule] verbs[0].editable[0]: 'hidden': is hidden, so approvers do not see it"),
        ("api_token", "[rule] verbs[0].editable[0]: 'api_token': is hidden, so approvers do not see it"),
        ("list", "[rule] verbs[0].editable[0]: 'list': no single text, number, choice, or yes and no"),
        ("any", "[rule] verbs[0].editable[0]: 'any': no single text, number, choice, or yes and no"),
        ("either", "[rule] verbs[0].editable[0]: 'either': no single text, number, choice, or yes and no"),
        ("id", "[rule] verbs[0].editable[0]: 'id': is part of the target: with it, it would be another effect"),
        ("keyed", f"[rule] verbs[0].editable[0]: 'keyed': is part of the idempotency_key: {ANOTHER}"),
        ("days, days", "[rule] verbs[0].editable[1]: 'days': named twice"),
    ],
)
def test_what_may_not_be_edited_is_named(tmp_path: Path, named: str, why: str) -> None:
    assert _found(_load(tmp_path, f"editable: [{named}]")) == [why]


def test_nothing_is_edited_where_the_key_is_made_of_all_params(tmp_path: Path) -> None:
    found = _found(_load(tmp_path, "editable: [days]", key="${run.id}:${fields_hash}"))
    assert found == [f"[rule] verbs[0].editable[0]: 'days': is part of the idempotency_key: {ANOTHER}"]


def test_a_read_is_not_edited(tmp_path: Path) -> None:
    read = _VERB[: _VERB.index("    effect:")] + "    effect: { class: read }\n" + _VERB[_VERB.index("    MORE") :]
    text = read.replace("MORE", "editable: [days]").replace("tasks::close", "tasks::find")
    catalog = load_catalog([pack(tmp_path, verbs_v=text, runbooks_r=runbook())], HANDLERS)
    why = "[rule] verbs[0].editable: 'editable' is for writes that people approve; a read or a review is not edited"
    assert why in _found(catalog)
