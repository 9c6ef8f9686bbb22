"""What can be undone and what not and why, and the definition that is made for it: pure, over every standing."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from receipts.redaction import MARKER
from runtime.definitions.canonical import from_canonical
from runtime.definitions.cel.expressions import render
from runtime.definitions.loading.catalog import load_catalog
from runtime.definitions.model import Definition
from runtime.handlers import Handler
from runtime.model.states import EffectStatus, StepStatus
from runtime.model.undo import Standing
from runtime.planning.undo import RunEffect, RunToUndo, items_of
from runtime.planning.undo_definition import payload_of, undo_definition
from tests.unit.test_definitions_catalog import act, look_back

PACK = Path(__file__).parents[1] / "packs/undo"
HANDLERS = {
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
    catalog = load_catalog([PACK], HANDLERS)
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
