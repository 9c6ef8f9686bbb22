"""Undo: what can be compensated, and the definition that is made for it.

What can be undone and what not and why, and the definition that is made for it: pure, over every standing.

How verbs are taken back: what `compensate` and `on_cancel` may say, and that a definition holds what undoes it.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from countersign_kyc.functions import FUNCTIONS

from receipts.canonical import loads
from receipts.redaction import MARKER
from runtime.definitions.canonical import from_canonical
from runtime.definitions.cel.expressions import render
from runtime.definitions.loading.catalog import Catalog, load_catalog
from runtime.definitions.model import Definition
from runtime.handlers import Handler
from runtime.model.states import EffectStatus, StepStatus
from runtime.model.undo import Standing
from runtime.planning.undo import RunEffect, RunToUndo, items_of
from runtime.planning.undo_definition import payload_of, undo_definition
from tests.functions import installed
from tests.unit.test_definitions_catalog import HANDLERS, act, look_back, pack, runbook

PACK = Path(__file__).parents[1] / "packs/undo"
UNDO_HANDLERS = {
    name: Handler(act, reconcile=look_back)
    for name in (
        "servicenow::add_work_note",
        "portal::request_information",
        "register::file_report",
        "portal::request_documents",
    )
}

ACTED = RunEffect(
    step="kept",
    step_status=StepStatus.SUCCEEDED,
    connector="servicenow",
    operation="add_work_note",
    target="incident:kept",
    status=EffectStatus.DISPATCHED,
    has_begun=False,
    receipt_id="rcp_1",
    digest="d" * 64,
    request={"place": "kept"},
    response={"entry": "e-1"},
    before={"held": "nothing"},
    undone_in=None,
    being_undone_in=None,
    by_hand_in=None,
    is_last=True,
)
ASKED = replace(ACTED, step="asked", connector="portal", operation="request_documents", receipt_id="rcp_2")


@cache
def _asking() -> Definition:
    catalog = load_catalog([PACK], UNDO_HANDLERS)
    catalog.require("strict")
    return catalog.definitions["asking", 1]


def _done(*acted: RunEffect) -> RunToUndo:
    return RunToUndo("run_1", "acme", _asking(), acted)


@pytest.mark.parametrize(
    ("change", "standing", "why"),
    [
        ({}, Standing.POSSIBLE, ""),
        ({"undone_in": "run_2"}, Standing.UNDONE, "undone by run_2"),
        ({"by_hand_in": "run_2"}, Standing.UNDONE, "undone by hand, as run_2 tells"),
        ({"being_undone_in": "run_2"}, Standing.BEING_UNDONE, "run_2 is at it"),
        ({"receipt_id": None}, Standing.ELSEWHERE, "its key had performed it for another run"),
        (
            {"receipt_id": None, "status": EffectStatus.IN_DOUBT},
            Standing.IN_DOUBT,
            "nobody knows yet whether it happened",
        ),
        (
            {"receipt_id": None, "status": EffectStatus.LEASED, "has_begun": True},
            Standing.UNDER_WAY,
            "an attempt is under way",
        ),
        ({"receipt_id": None, "status": EffectStatus.FAILED}, Standing.NOT_PERFORMED, "not performed: failed"),
        ({"before": None}, Standing.NOT_KNOWN, "expression 'before.held'"),
        (
            {"response": {"entry": f"{MARKER}"}},
            Standing.NOT_KNOWN,
            "what undoing it needs is on no record: nobody may see it",
        ),
        ({"response": {"entry": 7}}, Standing.NOT_KNOWN, "params of take: /entry: 7 is not of type 'string'"),
    ],
)
def test_each_effect_has_one_standing_and_says_why(change: dict[str, Any], standing: Standing, why: str) -> None:
    (item,) = items_of(_done(replace(ACTED, **change)))
    assert (item.standing, item.is_possible) == (standing, standing is Standing.POSSIBLE)
    assert item.why.startswith(why)
    assert (item.by, item.params is not None) == (("take", True) if item.is_possible else ("", False))


def test_what_came_last_is_undone_first_and_a_review_is_nothing_to_undo() -> None:
    review = replace(ACTED, connector="slack", operation="post_task", receipt_id="rcp_3")
    assert [item.step for item in items_of(_done(ACTED, review, ASKED))] == ["asked", "kept"]


def test_a_request_whose_answer_nobody_wants_any_more_is_withdrawn_and_an_answered_one_undone() -> None:
    (answered,) = items_of(_done(ASKED))
    (canceled,) = items_of(_done(replace(ASKED, step_status=StepStatus.CANCELED)))
    assert (answered.by, canceled.by) == ("take", "withdraw")


def test_the_definition_of_an_undo_gives_its_values_as_they_are_recorded() -> None:
    entry = "costs ${trigger.x} and $${y}"
    items = items_of(_done(replace(ACTED, response={"entry": entry})))
    made = undo_definition(_asking(), "run_1", 3, items, ["operators"])
    assert from_canonical(made.canonical) == made
    assert (made.name, made.version, made.trigger_type) == ("countersign-undo-run_1", 3, "countersign.undo")
    assert render(made.steps["undo_kept"].params, {})["entry"] == entry
    assert made.verb_of("undo_kept").idempotency_key == "undo:rcp_1"


def test_two_receipts_of_one_step_have_steps_of_their_own() -> None:
    again = replace(ACTED, step="kept", receipt_id="rcp_2")
    items = items_of(_done(ACTED, again))
    made = undo_definition(_asking(), "run_1", 1, items, ["operators"])
    keys = {path: made.verb_of(path).idempotency_key for path in ("undo_kept", "undo_kept_2")}
    assert keys == {"undo_kept": "undo:rcp_2", "undo_kept_2": "undo:rcp_1"}
    assert made.needs("undo_kept_2") == ("undo_kept",)


def test_an_undo_with_other_receipts_has_another_digest_and_takes_no_other_payload() -> None:
    items = items_of(_done(ACTED))
    other = [replace(item, digest="e" * 64) for item in items]
    made, else_ = (undo_definition(_asking(), "run_1", 1, one, ["operators"]) for one in (items, other))
    assert made.digest != else_.digest
    named = payload_of("run_1", items)
    assert {name: one["const"] for name, one in made.trigger_schema["properties"].items()} == named


def test_each_call_of_an_undo_waits_for_one_alone_however_many_there_are() -> None:
    items = items_of(_done(*(replace(ACTED, receipt_id=f"rcp_{number}") for number in range(40))))
    made = undo_definition(_asking(), "run_1", 1, items, ["operators"])
    assert [len(made.needs(path)) for path in made.block("")] == [0, *[1] * 40]


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
