"""The completeness decision: what must be known before a report may be compiled."""

import copy
from typing import Any

import pytest
from countersign_kyc.handlers import handlers
from countersign_kyc.lei import with_check_digits

from runtime.handlers import Call, JsonObject, RefusedError
from tests.handled import result_of

ROOT, PARENT = with_check_digits("984500000000000091"), with_check_digits("984500000000000092")
OPERATIONS = handlers({})


def entity(lei: str) -> JsonObject:
    return {
        "lei": lei,
        "legal_name": "Firma",
        "jurisdiction": "DE",
        "status": "ACTIVE",
        "registration_status": "ISSUED",
    }


def officer(name: str, resigned_on: str = "") -> JsonObject:
    return {"lei": ROOT, "name": name, "role": "director", "appointed_on": "2020-01-01", "resigned_on": resigned_on}


def person(name: str, percent: str) -> JsonObject:
    return {"kind": "person", "name": name, "percent": percent, "person_id": name, "lei": None, "country": "DE"}


def case(**changes: Any) -> JsonObject:
    """Return a complete case with the given parts changed."""
    complete = {
        "case_id": "6f1c2b9e-4f0d-4f5b-9b57-0a3f6a1d2c44",
        "threshold_percent": "25",
        "required_documents": ["register_extract"],
        "hierarchy": {"root": entity(ROOT), "ultimate_parent": {"entity": None}, "golden_copy": "2026-03-02"},
        "officers": {"officers": [officer("Ada")], "missing": []},
        "shareholdings": {"companies": [{"lei": ROOT, "holders": [person("Ada", "60"), person("Ben", "40")]}]},
        "client_documents": {"documents": [{"type": "register_extract", "name": "a.pdf", "sha256": "0" * 64}]},
    }
    return copy.deepcopy({**complete, **changes})


async def evaluate(params: JsonObject) -> JsonObject:
    operation = "kyc::evaluate_ubo_completeness"
    return await result_of(OPERATIONS[operation], Call("t", "r", "completeness", operation, params))


def codes(result: JsonObject) -> list[str]:
    return [gap["code"] for gap in result["gaps"]]


async def test_case_without_gaps_is_complete() -> None:
    result = await evaluate(case())
    assert result["complete"] is True
    assert result["gaps"] == []
    owners = result["compiled_data"]["beneficial_owners"]
    assert [(owner["name"], owner["percent"], owner["basis"]) for owner in owners] == [
        ("Ada", "60", "ownership"),
        ("Ben", "40", "ownership"),
    ]


async def test_unresolved_share_below_the_threshold_is_no_gap() -> None:
    held = {"companies": [{"lei": ROOT, "holders": [person("Ada", "75.1")]}]}
    result = await evaluate(case(shareholdings=held))
    assert result["complete"] is True
    assert result["compiled_data"]["unresolved_percent"] == "24.9"


async def test_unresolved_share_at_the_threshold_is_a_gap() -> None:
    result = await evaluate(case(shareholdings={"companies": [{"lei": ROOT, "holders": [person("Ada", "75")]}]}))
    assert result["complete"] is False
    assert result["gaps"] == [
        {
            "code": "ownership.undisclosed",
            "subject": ROOT,
            "msg": f"25% is held by undisclosed holders of {ROOT}",
        }
    ]


async def test_officers_stand_in_where_nobody_reaches_the_threshold() -> None:
    holders = [person(f"p{number}", "20") for number in range(5)]
    result = await evaluate(case(shareholdings={"companies": [{"lei": ROOT, "holders": holders}]}))
    owners = result["compiled_data"]["beneficial_owners"]
    assert [(owner["name"], owner["basis"]) for owner in owners] == [("Ada", "management")]


async def test_ultimate_parent_must_be_in_the_chain_of_shareholdings() -> None:
    hierarchy = {"root": entity(ROOT), "ultimate_parent": {"entity": entity(PARENT)}, "golden_copy": ""}
    assert codes(await evaluate(case(hierarchy=hierarchy))) == ["hierarchy.parent_not_in_chain"]


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [("status", "INACTIVE", "entity.not_active"), ("registration_status", "LAPSED", "entity.lei_not_current")],
)
async def test_entity_must_be_active_and_its_identifier_current(member: str, value: str, code: str) -> None:
    hierarchy = {"root": {**entity(ROOT), member: value}, "ultimate_parent": {"entity": None}, "golden_copy": ""}
    assert codes(await evaluate(case(hierarchy=hierarchy))) == [code]


async def test_officer_who_resigned_does_not_count() -> None:
    officers = {"officers": [officer("Ada", "2024-05-01")], "missing": []}
    assert codes(await evaluate(case(officers=officers))) == ["officers.none"]


async def test_each_missing_document_is_a_gap() -> None:
    result = await evaluate(case(required_documents=["a", "register_extract", "b"]))
    assert [gap["subject"] for gap in result["gaps"]] == ["a", "b"]


async def test_wrong_params_are_refused_by_name_and_without_their_values() -> None:
    with pytest.raises(RefusedError, match=r"threshold_percent: .*above 0") as caught:
        await evaluate(case(threshold_percent="0", case_id={"secret": "x7y8"}))
    assert "case_id" in str(caught.value)
    assert "x7y8" not in str(caught.value)


async def test_report_states_the_compiled_data_and_sums_it_up() -> None:
    data = (await evaluate(case()))["compiled_data"]
    operation = "kyc::compile_ubo_report"
    about = {"gaps": [], "subsidiaries": {"looked_up": [], "unknown": ""}}
    params = {"case_id": "c", "data": data, **about}
    result = await result_of(OPERATIONS[operation], Call("t", "r", "report", operation, params))
    assert result["report"] == {"case_id": "c", **data, **about}
    owners = f"Firma ({ROOT}): Ada 60%, Ben 40%; unidentified ownership 0% (threshold 25%)."
    assert result["summary"] == f"{owners} 0 subsidiaries checked."


async def test_report_says_what_is_missing_and_why_subsidiaries_are_not_known() -> None:
    data = (await evaluate(case()))["compiled_data"]
    operation = "kyc::compile_ubo_report"
    gaps = [{"code": "officers.none", "subject": ROOT, "msg": "The register lists no serving officer"}]
    params = {"case_id": "c", "data": data, "gaps": gaps, "subsidiaries": {"looked_up": [], "unknown": "no contract"}}
    result = await result_of(OPERATIONS[operation], Call("t", "r", "report", operation, params))
    assert result["summary"].endswith(
        "(threshold 25%). Missing: The register lists no serving officer. Subsidiaries are not known: no contract."
    )
