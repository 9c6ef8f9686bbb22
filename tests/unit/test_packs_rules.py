"""Rules of the packs: completeness, ownership, classification and LEI check digits.

The completeness decision: what must be known before a report may be compiled.

Who owns a company: shares along chains, and what cannot be followed.

The classification of incidents by the rules that their verb declares.

The check digits of Legal Entity Identifiers.
"""

import copy
from decimal import Decimal
from typing import Any

import pytest
from countersign_incident_triage.handlers import handlers as triage_handlers
from countersign_kyc.handlers import handlers
from countersign_kyc.lei import is_lei, with_check_digits
from countersign_kyc.register import Holder
from countersign_kyc.seed_data import COMPANIES
from countersign_kyc.ubo import trace
from hypothesis import given
from hypothesis import strategies as st

from runtime.handlers import Answer, Call, JsonObject, RefusedError
from tests.functions import result_of

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


LEIS = [with_check_digits(f"9845{number:014d}") for number in range(5)]
A, B, C, D, _ = LEIS
QUARTER = Decimal(25)


def holder_person(name: str, percent: str, person_id: str = "") -> Holder:
    return Holder(kind="person", name=name, percent=percent, person_id=person_id or name)


def company(lei: str | None, percent: str) -> Holder:
    return Holder(kind="company", name=f"company {lei}", percent=percent, lei=lei)


def test_share_is_the_product_along_the_chain() -> None:
    ownership = trace(
        A,
        {A: [company(B, "80"), holder_person("x", "20")], B: [holder_person("y", "62.5"), holder_person("z", "37.5")]},
    )
    assert {owner.name: owner.percent for owner in ownership.owners.values()} == {
        "x": Decimal(20),
        "y": Decimal(50),
        "z": Decimal(30),
    }
    assert ownership.unresolved_percent == 0


def test_shares_of_one_person_through_several_chains_add_up() -> None:
    holders = {A: [company(B, "50"), company(C, "50")], B: [holder_person("x", "30", "id"), holder_person("y", "70")]}
    ownership = trace(A, {**holders, C: [holder_person("x", "20", "id"), holder_person("z", "80")]})
    assert [(owner.name, owner.percent) for owner in ownership.beneficial(QUARTER)] == [
        ("z", Decimal(40)),
        ("y", Decimal(35)),
        ("x", Decimal(25)),
    ]


def test_exactly_the_threshold_counts_and_less_does_not() -> None:
    ownership = trace(A, {A: [holder_person("x", "25"), holder_person("y", "24.999999")]})
    assert [owner.name for owner in ownership.beneficial(QUARTER)] == ["x"]


def test_two_people_with_one_name_are_told_apart_by_id() -> None:
    ownership = trace(A, {A: [holder_person("x", "20", "1"), holder_person("x", "20", "2")]})
    assert ownership.beneficial(QUARTER) == []


def test_circular_holding_ends_and_is_unresolved() -> None:
    ownership = trace(
        A, {A: [company(B, "60"), holder_person("x", "40")], B: [company(A, "50"), holder_person("y", "50")]}
    )
    assert ownership.unresolved == {("ownership.circular", A): Decimal(30)}


def test_company_that_the_register_does_not_list_is_unresolved() -> None:
    assert trace(A, {A: [company(B, "100")]}).unresolved == {("ownership.not_in_register", B): Decimal(100)}


def test_root_that_the_register_does_not_list_is_wholly_unresolved() -> None:
    assert trace(A, {}).unresolved_percent == Decimal(100)


def test_holder_without_identifier_is_unresolved() -> None:
    ownership = trace(A, {A: [company(None, "60"), holder_person("x", "40")]})
    assert ownership.unresolved == {("ownership.holder_without_lei", "company None"): Decimal(60)}


def test_what_is_not_disclosed_is_unresolved() -> None:
    assert trace(A, {A: [holder_person("x", "70")]}).unresolved == {("ownership.undisclosed", A): Decimal(30)}


def test_shareholdings_above_the_whole_are_not_believed() -> None:
    ownership = trace(A, {A: [holder_person("x", "70"), holder_person("y", "31")]})
    assert ownership.owners == {}
    assert ownership.unresolved == {("ownership.above_100_percent", A): Decimal(100)}


def test_chain_too_thin_to_matter_is_unresolved() -> None:
    holders = {A: [company(B, "0.01"), holder_person("x", "99.99")], B: [holder_person("y", "100")]}
    assert trace(A, holders).unresolved == {("ownership.remote", B): Decimal("0.01")}


HOLDERS = st.one_of(
    st.builds(holder_person, st.sampled_from("xyz"), st.integers(1, 50).map(str)),
    st.builds(company, st.sampled_from([*LEIS, None]), st.integers(1, 50).map(str)),
)


@given(st.dictionaries(st.sampled_from(LEIS), st.lists(HOLDERS, max_size=4)))
def test_owned_and_unresolved_always_make_the_whole(register: dict[str, list[Holder]]) -> None:
    ownership = trace(D, register)
    owned = sum((owner.percent for owner in ownership.owners.values()), Decimal(0))
    assert abs(owned + ownership.unresolved_percent - 100) < Decimal("1e-12")


OPERATION = "triage::classify"


def rule(name: str, *words: str) -> JsonObject:
    return {"name": name, "words": list(words), "category": name, "assignment_group": name.title(), "labels": [name]}


async def classify(text: str, **changes: Any) -> JsonObject:
    params = {
        "number": "INC0010042",
        "short_description": text,
        "description": "",
        "impact": 2,
        "urgency": 2,
        "rules": [rule("network", "vpn", "dns"), rule("database", "sql", "deadlock")],
        "otherwise": {"category": "inquiry", "assignment_group": "Service Desk", "labels": []},
        "urgent_label": "urgent",
    }
    result = await triage_handlers({})[OPERATION].run(Call("t", "r", "s", OPERATION, {**params, **changes}))
    assert not isinstance(result, Answer), "a computation asks nobody, and has nothing to tell beside its result"
    return result


async def test_rule_with_most_words_wins() -> None:
    assert (await classify("VPN broken: SQL deadlock"))["category"] == "database"


async def test_first_rule_wins_among_equals() -> None:
    assert (await classify("sql over vpn"))["category"] == "network"


async def test_word_within_a_word_does_not_count() -> None:
    assert (await classify("mysqldump"))["category"] == "inquiry"


async def test_description_counts_too() -> None:
    assert (await classify("help", description="the DNS"))["assignment_group"] == "Network"


async def test_nothing_matching_goes_to_the_fallback_and_says_so() -> None:
    result = await classify("coffee machine")
    assert result == {
        "category": "inquiry",
        "assignment_group": "Service Desk",
        "labels": [],
        "note": "Triage of INC0010042: category inquiry, group Service Desk (no rule matched).",
    }


async def test_highest_impact_and_urgency_add_the_urgent_label() -> None:
    assert (await classify("vpn", impact=1, urgency=1))["labels"] == ["network", "urgent"]
    assert (await classify("vpn", impact=1, urgency=2))["labels"] == ["network"]


async def test_note_names_rule_and_words() -> None:
    assert "(rule 'network', words: vpn, dns)" in (await classify("dns and vpn"))["note"]


@pytest.mark.parametrize("label", ["needs-triage", "Upper", "a^b", ""])
async def test_label_that_servicenow_would_not_take_is_refused(label: str) -> None:
    with pytest.raises(RefusedError, match="urgent_label"):
        await classify("vpn", urgent_label=label)


STEMS = st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=18, max_size=18)


@pytest.mark.parametrize("lei", ["5493001KJTIIGC8Y1R12", "HWUPKR0MPOU8FGXBT394", "529900T8BM49AURSDO55"])
def test_published_identifiers_are_valid(lei: str) -> None:
    assert is_lei(lei)


@given(STEMS)
def test_computed_check_digits_are_valid(stem: str) -> None:
    assert is_lei(with_check_digits(stem))


@given(st.text("0123456789", min_size=18, max_size=18), st.integers(0, 19), st.sampled_from("0123456789"))
def test_one_changed_digit_is_found(stem: str, place: int, digit: str) -> None:
    lei = with_check_digits(stem)
    changed = lei[:place] + digit + lei[place + 1 :]
    assert is_lei(changed) == (changed == lei)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5493001KJTIIGC8Y1R13",
        "5493001kjtiigc8y1r12",
        "5493001KJTIIGC8Y1R1",
        "5493001KJTIIGC8Y1R12\n",
        "\u0665" * 20,
    ],
)
def test_anything_else_is_not_an_identifier(text: str) -> None:
    assert not is_lei(text)


def test_seeded_companies_have_valid_identifiers() -> None:
    assert all(is_lei(lei) for lei in COMPANIES)
