"""How verbs are taken back: what `compensate` and `on_cancel` may say, and that a definition holds what undoes it."""

from pathlib import Path

import pytest
from countersign_kyc.functions import FUNCTIONS

from receipts.canonical import loads
from runtime.definitions.canonical import from_canonical
from runtime.definitions.loading.catalog import Catalog, load_catalog
from tests.functions import installed
from tests.unit.test_definitions_catalog import HANDLERS, pack, runbook

_WRITE = '{ class: write, tier: low, reversible: REVERSIBLE, target: t, idempotency_key: "${run.id}", in_doubt: ask }'


def _verb(name: str, schema: str, *more: str, reversible: str = "false") -> str:
    lines = [
        f"  - name: {name}",
        "    domain: desk",
        "    description: D",
        '    execution: { kind: sync, handler: "tasks::close" }',
        f"    effect: {_WRITE.replace('REVERSIBLE', reversible)}",
        f"    input_schema: {schema}",
        "    output_schema: { properties: { entry: { type: string } } }",
        *(f"    {line}" for line in more),
    ]
    return "\n".join(lines)


_INPUT = "{ required: [id], properties: { id: { type: string }, secret: { type: string }, count: { type: integer } } }"
_CLOSE = _verb("close_it", "{ required: [id], properties: { id: { type: string }, why: { type: string } } }")


def _load(folder: Path, *more: str, reversible: str = "{ by: close_it }", closing: str = _CLOSE) -> Catalog:
    opening = _verb("open_it", _INPUT, *more, reversible=reversible)
    verbs = f"verbs:\n{opening}\n{closing}\n"
    step = runbook(verb="open_it").replace("lei: LEI40000000000000000", "id: x")
    return load_catalog([pack(folder, verbs_v=verbs, runbooks_r=step)], HANDLERS)


def _found(catalog: Catalog) -> list[str]:
    return [f"[{each.code}] {each.path}: {each.message}" for each in catalog.problems]


def test_a_definition_holds_the_verb_that_undoes_it_and_what_undoes_that(tmp_path: Path) -> None:
    again = 'compensate: { verb: open_it, params: { id: "${request.id}" } }'
    closing = _verb("close_it", "{ required: [id], properties: { id: {} } }", again, reversible="{ by: open_it }")
    catalog = _load(
        tmp_path, 'compensate: { verb: close_it, params: { id: "${response.entry}-${run.id}" } }', closing=closing
    )
    assert catalog.problems == ()
    definition = catalog.definitions["probe", 1]
    assert set(definition.verbs) == {"open_it", "close_it"}
    assert from_canonical(definition.canonical) == definition
    assert definition.verbs["open_it"].compensate == from_canonical(definition.canonical).verbs["open_it"].compensate


def test_a_verb_that_is_not_taken_back_has_the_canonical_form_that_it_had(tmp_path: Path) -> None:
    document = loads(_load(tmp_path).definitions["probe", 1].canonical)
    assert {"compensate", "on_cancel"}.isdisjoint(document["verbs"]["open_it"])


def test_functions_of_packs_stand_in_runbooks_alone(tmp_path: Path) -> None:
    way = 'compensate: { verb: close_it, params: { id: "${string(kyc_is_lei(request.id))}" } }'
    with installed(*FUNCTIONS):
        (problem,) = _load(tmp_path, way).problems
    why = "[rule] verbs[0].compensate.params: 'kyc_is_lei' is a function of a pack: these stand in runbooks alone"
    assert f"[{problem.code}] {problem.path}: {problem.message}" == why


def test_the_key_of_a_verb_calls_no_function_of_a_pack(tmp_path: Path) -> None:
    closing = _CLOSE.replace('"${run.id}"', '"${run.id}-${kyc_is_lei(params.id)}"')
    with installed(*FUNCTIONS):
        (problem,) = _load(tmp_path, closing=closing).problems
    assert problem.path.endswith("effect.idempotency_key")
    assert problem.message == "'kyc_is_lei' is a function of a pack: these stand in runbooks alone"


def test_values_before_and_the_tenant_may_be_named(tmp_path: Path) -> None:
    way = 'compensate: { verb: close_it, params: { id: "${before.id}", why: "${tenant} ${request.count}" } }'
    assert _load(tmp_path, way).problems == ()


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (
            "compensate: { verb: close_itt }",
            "[unknown_verb] verbs[0].compensate.verb: unknown verb 'close_itt' (did you mean 'close_it'?)",
        ),
        ("compensate: { verb: close_it }", "[missing_param] verbs[0].compensate.params: 'id' is a required property"),
        (
            "compensate: { verb: close_it, params: { id: x, wy: y } }",
            "[unknown_field] verbs[0].compensate.params.wy: unknown field 'wy' (did you mean 'why'?)",
        ),
        (
            'compensate: { verb: close_it, params: { id: "${request.count}" } }',
            "[type_mismatch] verbs[0].compensate.params.id: '${request.count}' gives integer, expected string",
        ),
        (
            'compensate: { verb: close_it, params: { id: "${request.idd}" } }',
            (
                "[dangling_reference] verbs[0].compensate.params.id: dangling reference 'request.idd': there is no"
                " 'idd' (did you mean 'id'?)"
            ),
        ),
        (
            'compensate: { verb: close_it, params: { id: "${response.entri}" } }',
            (
                "[dangling_reference] verbs[0].compensate.params.id: dangling reference 'response.entri': there is no"
                " 'entri' (did you mean 'entry'?)"
            ),
        ),
        (
            'compensate: { verb: close_it, params: { id: "${steps.only.result.entry}" } }',
            (
                "[dangling_reference] verbs[0].compensate.params.id: dangling reference 'steps.only.result.entry':"
                " unknown variable 'steps'"
            ),
        ),
        (
            "compensate: { verb: look_up, params: { lei: LEI40000000000000000 } }",
            "[rule] verbs[0].compensate.verb: 'look_up' is a read, and undoes nothing",
        ),
        (
            "on_cancel: { verb: close_it, params: { id: x } }",
            "[rule] verbs[0].on_cancel: 'on_cancel' is for 'wait: external', which another system answers",
        ),
    ],
)
def test_a_way_back_is_checked_against_the_verb_that_it_names(tmp_path: Path, way: str, expected: str) -> None:
    reading = _verb("look_up", "{ required: [lei], properties: { lei: { type: string } } }").replace(
        f"effect: {_WRITE.replace('REVERSIBLE', 'false')}", "effect: { class: read }"
    )
    reading = reading.replace("tasks::close", "register::look_up")
    catalog = _load(tmp_path, way, closing=f"{_CLOSE}\n{reading}")
    assert _found(catalog) == [expected]
    assert catalog.latest("probe") is None


def test_what_nobody_may_see_is_no_part_of_a_way_back(tmp_path: Path) -> None:
    way = 'compensate: { verb: close_it, params: { id: "${request.secret}" } }'
    (problem,) = _found(_load(tmp_path, way, "redact: [/secret]"))
    assert problem == (
        "[rule] verbs[0].compensate.params.id: 'request.secret' is redacted: it is on no record, from which undos"
        " are made"
    )
    closing = _verb("close_it", "{ required: [id], properties: { id: { type: string } } }", "redact: [/id]")
    way = 'compensate: { verb: close_it, params: { id: "${request.id}" } }'
    (problem,) = _found(_load(tmp_path, way, closing=closing))
    assert problem.startswith("[redacted_literal] verbs[0].compensate.params.id: 'close_it' redacts /id")


def test_what_can_be_undone_is_not_called_irreversible(tmp_path: Path) -> None:
    way = "compensate: { verb: close_it, params: { id: x } }"
    (problem,) = _found(_load(tmp_path, way, reversible="false"))
    assert problem == "[rule] verbs[0].effect.reversible: what 'close_it' undoes is reversible: say by what"


def test_a_problem_of_what_undoes_keeps_the_runbook_from_starting(tmp_path: Path) -> None:
    way = "compensate: { verb: close_it, params: { id: x } }"
    catalog = _load(tmp_path, way, closing=_CLOSE.replace("tasks::close", "tasks::nowhere"))
    assert [each.code for each in catalog.problems] == ["unknown_handler"]
    assert catalog.latest("probe") is None
