"""Declared cards, editable params and governed reads in definitions.

How authors declare cards: what `card` may say, what is refused at load, and what of it one request shows.

What `editable` may name: plain params that are seen, and of which neither target nor key is made.

Governed reads in definitions: said only where it is given, and what an author may say of one.
"""

from pathlib import Path
from typing import Any

import pytest
from countersign_kyc.functions import FUNCTIONS

from receipts.canonical import dumps, loads
from runtime.definitions.canonical import CanonicalDefinitionError, from_canonical
from runtime.definitions.card_evaluation import LINES, VALUE, evaluate_card
from runtime.definitions.cards import read_card
from runtime.definitions.loading.catalog import Catalog, load_catalog
from runtime.definitions.model import Definition
from tests.functions import installed
from tests.unit.test_definitions_catalog import HANDLERS, pack, runbook

_VERB = """verbs:
  - name: open_it
    domain: desk
    description: D
    execution: { kind: sync, handler: "tasks::close" }
    effect: { class: write, tier: low, reversible: false, target: t, idempotency_key: "${run.id}", in_doubt: ask }
    input_schema:
      required: [id]
      additionalProperties: false
      properties:
        id: { type: string }
        secret: { type: object, properties: { key: { type: string } } }
        owners: { type: array, items: { $ref: "#/definitions/Owner" } }
    redact: [/secret/key]
CARDdefinitions:
  Owner: { type: object, additionalProperties: false, properties: { name: { type: string }, share: { type: number } } }
"""
_WHOLE = """    card:
      title: Open ${params.id} for ${run.tenant}
      summary: What ${params.id} means
      fields:
        - { label: Reference, value: "${run.reference}", format: code }
        - { label: Now, value: "${before.id}" }
      tables:
        - title: Owners
          rows: "${params.owners}"
          columns: [{ label: Name, value: "${row.name}" }, { label: Share, value: "${row.share}", format: percent }]
      links: [{ label: Look, url: "https://desk.example/things/${params.id}" }]
      hide: [secret]
"""


def _load(folder: Path, card: str, *, step: str = "") -> Catalog:
    text = runbook(verb="open_it").replace("lei: LEI40000000000000000", "id: x")
    head, params, tail = text.partition("params:")
    return load_catalog(
        [pack(folder, verbs_v=_VERB.replace("CARD", card), runbooks_r=head + step + params + tail)], HANDLERS
    )


def _found(catalog: Catalog) -> list[str]:
    return [f"[{each.code}] {each.path}: {each.message}" for each in catalog.problems]


def test_a_definition_holds_the_card_of_its_verb(tmp_path: Path) -> None:
    catalog = _load(tmp_path, _WHOLE)
    assert _found(catalog) == []
    definition = catalog.definitions["probe", 1]
    assert from_canonical(definition.canonical) == definition
    card = definition.verbs["open_it"].card
    assert card is not None
    assert [field.label for field in card.fields] == ["Reference", "Now"]


def test_what_declares_no_card_has_the_canonical_form_that_it_had(tmp_path: Path) -> None:
    document = loads(_load(tmp_path, "").definitions["probe", 1].canonical)
    assert "card" not in document["verbs"]["open_it"]
    assert "card" not in document["steps"][0]


def test_a_step_has_a_card_of_its_own_that_reads_the_trigger_too(tmp_path: Path) -> None:
    catalog = _load(tmp_path, _WHOLE, step='card: { title: "For ${trigger.case_id}, ${state.x}, ${params.id}" }, ')
    assert _found(catalog) == []
    definition = catalog.definitions["probe", 1]
    assert from_canonical(definition.canonical) == definition
    (node,) = definition.steps.values()
    assert node.card is not None
    assert node.card.title == "For ${trigger.case_id}, ${state.x}, ${params.id}"


@pytest.mark.parametrize(
    ("card", "problem"),
    [
        ("{ title: 1 }", "[shape] title: expected text, not 1"),
        ("{ titel: x }", "[unknown_key] titel: unknown key 'titel' (did you mean 'title'?)"),
        ("{ title: '${params.nothing}' }", "[dangling_reference] title: dangling reference 'params.nothing'"),
        ("{ title: '${trigger.case_id}' }", "[dangling_reference] title: dangling reference 'trigger.case_id'"),
        ("{ title: '${1 +}' }", "[expression] title: expression '1 +'"),
        ("{ title: '${params.owners}' }", "[type_mismatch] title:"),
        ("{ summary: '${params.secret.key}' }", "[rule] summary: 'params.secret.key' is redacted and may not show"),
        ("{ summary: '${before.secret.key}' }", "[rule] summary: 'before.secret.key' is redacted and may not show"),
        (
            "{ fields: [{ label: S, value: '${params.secret}' }] }",
            "[rule] fields[0].value: 'params.secret' is redacted and may not show",
        ),
        ("{ fields: [{ label: S, value: '${string(params)}' }] }", "[rule] fields[0].value: 'params' is redacted"),
        ("{ fields: [{ label: '${params.id}', value: x }] }", "[shape] fields[0].label: '${params.id}' does not match"),
        ("{ fields: [{ label: S, value: x, format: money }] }", "[shape] fields[0].format:"),
        (
            "{ tables: [{ title: T, rows: '${params.id}', columns: [{ label: A, value: x }] }] }",
            "[type_mismatch] tables[0].rows: the rows of a table are a list, not string",
        ),
        (
            "{ tables: [{ title: T, rows: '${params.owners}', columns: [{ label: A, value: '${row.nam}' }] }] }",
            "[dangling_reference] tables[0].columns[0].value: dangling reference 'row.nam'",
        ),
        ("{ tables: [{ title: T, rows: '${params.owners}', columns: [] }] }", "[shape] tables[0].columns:"),
        ("{ links: [{ label: L, url: 'http://desk.example/' }] }", "[rule] links[0].url: an address begins with https"),
        ("{ links: [{ label: L, url: 'https://${params.id}/' }] }", "[rule] links[0].url: an address begins with"),
        ("{ links: [{ label: L, url: 'https://a.example${params.id}' }] }", "[rule] links[0].url: an address begins"),
        ("{ hide: [secrets] }", "[dangling_reference] hide[0]: there is no param 'secrets' (did you mean 'secret'?)"),
    ],
)
def test_what_is_wrong_with_a_card_is_said_at_its_place(tmp_path: Path, card: str, problem: str) -> None:
    (found,) = [one for one in _found(_load(tmp_path, f"    card: {card}\n")) if "] verbs" in one]
    code, rest = problem.split(" ", 1)
    assert found.startswith(f"{code} verbs[0].card.{rest}")


def test_functions_of_packs_have_no_place_on_a_card(tmp_path: Path) -> None:
    with installed(*FUNCTIONS):
        (found,) = _found(_load(tmp_path, "    card: { title: '${string(kyc_is_lei(params.id))}' }\n"))
    assert "'kyc_is_lei' is a function of a pack" in found


def test_nobody_is_asked_about_a_read_so_it_has_no_card(tmp_path: Path) -> None:
    verb = _VERB.replace("CARD", "    card: { title: x }\n")
    start, end = verb.index("effect: {"), verb.index("\n    input_schema")
    read = f"{verb[:start]}effect: {{ class: read }}{verb[end:]}".replace("tasks::close", "register::look_up")
    text = runbook(verb="open_it").replace("lei: LEI40000000000000000", "id: x")
    found = _found(load_catalog([pack(tmp_path, verbs_v=read, runbooks_r=text)], HANDLERS))
    assert "[rule] verbs[0].card: 'card' is for what people may be asked about: a write, or a governed read" in found


def test_a_card_goes_with_a_verb(tmp_path: Path) -> None:
    text = runbook(verb="open_it").replace("lei: LEI40000000000000000", "id: x")
    text += "\n  - { id: later, set: { x: 1 }, card: { title: t } }\n"
    found = _found(load_catalog([pack(tmp_path, verbs_v=_VERB.replace("CARD", ""), runbooks_r=text)], HANDLERS))
    assert found == ["[rule] steps[1].card: 'card' goes with 'verb'"]


CONTEXT = {"params": {"id": "A", "n": 7, "rows": [{"x": 1}, {"y": 2}], "deep": {"a": [1]}}, "before": {}, "run": {}}


def _shown(**card: Any) -> dict[str, Any]:
    return evaluate_card(read_card(card), CONTEXT)


def test_what_cannot_be_evaluated_is_left_out_piece_by_piece() -> None:
    columns = [{"label": "X", "value": "${row.x}"}]
    shown = _shown(
        title="${before.gone}",
        summary="${params.id} stays",
        fields=[{"label": "Gone", "value": "${before.gone}"}, {"label": "N", "value": "${params.n}"}],
        tables=[
            {"title": "Gone", "rows": "${before.gone}", "columns": columns},
            {"title": "T", "rows": "${params.rows}", "columns": columns},
            {"title": "No list", "rows": "${params.id}", "columns": columns},
        ],
        links=[{"label": "Gone", "url": "https://a.example/${before.gone}"}],
    )
    assert shown == {
        "summary": "A stays",
        "fields": [{"label": "N", "value": 7, "format": "text"}],
        "tables": [
            {"title": "T", "columns": [{"label": "X", "format": "text"}], "lines": [[1], [None]], "count": 2},
        ],
        "links": [],
        "hide": [],
    }


def test_a_field_holds_no_objects() -> None:
    fields = [{"label": "D", "value": "${params.deep}"}, {"label": "L", "value": "${params.deep.a}"}]
    assert [field["label"] for field in _shown(fields=fields)["fields"]] == ["L"]


def test_what_a_card_shows_is_bounded() -> None:
    context = {"params": {"text": "x" * 100_000, "list": ["y" * 50] * 5000}}
    value, rows = "${params.text}", "${params.list}"
    column = {"label": "L" * 60, "value": "${row}"}
    card = {
        "title": value,
        "summary": value,
        "fields": [{"label": "L" * 60, "value": value}] * 4 + [{"label": "L" * 60, "value": rows}] * 4,
        "tables": [{"title": "T" * 60, "rows": rows, "columns": [column] * 6}] * 3,
        "links": [{"label": "L", "url": f"https://a.example/{value}"}] * 3,
    }
    shown = evaluate_card(read_card(card), context)
    assert len(shown["fields"]) == 4
    assert len(shown["fields"][0]["value"]) == VALUE
    assert [(len(table["lines"]), table["count"]) for table in shown["tables"]] == [(LINES, 5000)] * 3
    assert shown["links"] == []
    assert len(dumps(shown)) < 60 * 1024


ANOTHER = "with it, it would be another effect"
_EDITABLE_VERB = """\
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


def _load_editable(folder: Path, more: str, key: str = "${run.id}:${params.keyed}") -> Catalog:
    step = runbook(verb="open_it").replace("lei: LEI40000000000000000", "id: x, keyed: k")
    text = _EDITABLE_VERB.replace("MORE", more).replace("KEY", key)
    return load_catalog([pack(folder, verbs_v=text, runbooks_r=step)], HANDLERS)


def test_a_definition_says_which_params_may_be_edited(tmp_path: Path) -> None:
    catalog = _load_editable(tmp_path, "editable: [days, kind, when, sure]")
    assert _found(catalog) == []
    definition = catalog.definitions["probe", 1]
    assert definition.verbs["open_it"].editable == ("days", "kind", "when", "sure")
    assert from_canonical(definition.canonical) == definition


def test_a_verb_of_which_nothing_may_be_edited_has_the_canonical_form_that_it_had(tmp_path: Path) -> None:
    assert "editable" not in loads(_load_editable(tmp_path, "").definitions["probe", 1].canonical)["verbs"]["open_it"]


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
    assert _found(_load_editable(tmp_path, f"editable: [{named}]")) == [why]


def test_nothing_is_edited_where_the_key_is_made_of_all_params(tmp_path: Path) -> None:
    found = _found(_load_editable(tmp_path, "editable: [days]", key="${run.id}:${fields_hash}"))
    assert found == [f"[rule] verbs[0].editable[0]: 'days': is part of the idempotency_key: {ANOTHER}"]


def test_a_read_is_not_edited(tmp_path: Path) -> None:
    read = (
        _EDITABLE_VERB[: _EDITABLE_VERB.index("    effect:")]
        + "    effect: { class: read }\n"
        + _EDITABLE_VERB[_EDITABLE_VERB.index("    MORE") :]
    )
    text = read.replace("MORE", "editable: [days]").replace("tasks::close", "tasks::find")
    catalog = load_catalog([pack(tmp_path, verbs_v=text, runbooks_r=runbook())], HANDLERS)
    why = "[rule] verbs[0].editable: 'editable' is for writes that people approve; a read or a review is not edited"
    assert why in _found(catalog)


READ = "{ class: read }"
GOVERNED = '{ class: read, governed: true, tier: medium, target: "company:${params.id}" }'


def definition(folder: Path, effect: str, more: str = "") -> Definition:
    folder.mkdir(exist_ok=True)
    verb = f"""verbs:
  - name: ask
    domain: desk
    description: Ask somebody outside
    execution: {{ kind: sync, handler: "register::look_up" }}
    effect: {effect}
    input_schema: {{ required: [id], properties: {{ id: {{ type: string }} }} }}
{more}"""
    text = runbook(verb="ask").replace("lei: LEI40000000000000000", "id: x")
    catalog = load_catalog([pack(folder, verbs_v=verb, runbooks_r=text)], HANDLERS)
    assert catalog.problems == ()
    return catalog.definitions["probe", 1]


def test_a_definition_says_that_a_read_is_governed_only_where_it_is(tmp_path: Path) -> None:
    plain, governed = (definition(tmp_path / name, effect) for name, effect in (("a", READ), ("b", GOVERNED)))
    assert "governed" not in loads(plain.canonical)["verbs"]["ask"]["effect"]
    assert loads(governed.canonical)["verbs"]["ask"]["effect"] == {
        "class": "read",
        "governed": True,
        "tier": "medium",
        "target": "company:${params.id}",
        "idempotency_key": "read-${run.id}-${step}",
        "in_doubt": "repeat",
        "reversible_by": None,
    }
    assert from_canonical(governed.canonical) == governed
    assert [one.verbs["ask"].passes_gate for one in (plain, governed)] == [False, True]


def test_a_governed_read_may_have_a_card(tmp_path: Path) -> None:
    found = definition(tmp_path, GOVERNED, '    card: { title: "Ask about ${params.id}" }\n')
    assert found.verbs["ask"].card is not None


def test_a_definition_that_says_that_a_read_is_not_governed_is_not_canonical(tmp_path: Path) -> None:
    text = definition(tmp_path, READ).canonical.replace(b'"class":"read",', b'"class":"read","governed":false,')
    with pytest.raises(CanonicalDefinitionError):
        from_canonical(text)
