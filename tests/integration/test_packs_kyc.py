"""Handlers of the KYC pack and its portal, against their stand-ins.

The handlers of the KYC pack against its stand-ins, over HTTP.

The portal's operations of the KYC pack against its stand-in, over HTTP.
"""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer
from countersign_kyc import seed_data as seed
from countersign_kyc.handlers import handlers
from countersign_kyc.lei import with_check_digits
from countersign_kyc.standins import build, settings

from runtime.handlers import (
    Answer,
    BlockedError,
    Done,
    Handler,
    HandlerError,
    JsonObject,
    Metadata,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    Untouched,
    Usage,
)
from tests.functions import result_of
from tests.integration.packs_stage import DOCUMENTS, Completions, actions, call, control, run

UNKNOWN = with_check_digits("984500000000009999")


@pytest.fixture
async def base() -> AsyncIterator[str]:
    async with TestServer(build()) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
def pack(base: str) -> Mapping[str, Handler]:
    return handlers({**settings(base), "timeout": "2", "callback_url": "https://countersign.example/v1/notifications"})


def discover(lei: str, max_depth: int = 3, max_entities: int = 40) -> JsonObject:
    return {"lei": lei, "max_depth": max_depth, "max_entities": max_entities}


async def test_hierarchy_holds_parents_and_subsidiaries_over_pages(pack: Mapping[str, Handler]) -> None:
    found = await run(pack, "gleif::discover_hierarchy", discover(seed.CLIENT))
    assert found["root"] == {
        "lei": seed.CLIENT,
        "legal_name": "Halvorsen Seefracht GmbH",
        "jurisdiction": "DE",
        "status": "ACTIVE",
        "registration_status": "ISSUED",
    }
    assert found["direct_parent"]["entity"]["lei"] == seed.GROUP
    assert found["ultimate_parent"]["entity"]["lei"] == seed.HOLDING
    assert [(entity["lei"], entity["parent_lei"], entity["depth"]) for entity in found["entities"]] == [
        (seed.CLIENT, "", 0),
        (seed.TERMINAL, seed.CLIENT, 1),
        (seed.AGENCY, seed.CLIENT, 1),
        (seed.CREWING, seed.CLIENT, 1),
        (seed.CREWING_BALTIC, seed.CREWING, 2),
    ]
    assert found["truncated"] is False
    assert found["golden_copy"] == "2026-03-02T00:00:00Z"


async def test_a_look_at_gleif_tells_how_many_requests_it_took(pack: Mapping[str, Handler]) -> None:
    params = discover(seed.HOLDING, max_depth=0)
    answer = await pack["gleif::discover_hierarchy"].run(call("gleif::discover_hierarchy", params))
    assert isinstance(answer, Answer)
    assert answer.metadata == Metadata(200, None, 5), "the entity, two parents that it has not, and why"
    assert answer.usage == (Usage("gleif", units={"requests": 5}),)


async def test_a_look_into_the_register_tells_of_its_answers_and_of_no_usage(pack: Mapping[str, Handler]) -> None:
    operation = "register::list_officers"
    answer = await pack[operation].run(call(operation, {"leis": [seed.CLIENT]}))
    assert isinstance(answer, Answer)
    assert answer.metadata is not None
    assert (answer.metadata.status, answer.usage) == (200, ())


async def test_entity_without_parent_gives_the_reported_reason(pack: Mapping[str, Handler]) -> None:
    found = await run(pack, "gleif::discover_hierarchy", discover(seed.HOLDING, max_depth=0))
    assert found["direct_parent"] == found["ultimate_parent"] == {"entity": None, "exception": "NATURAL_PERSONS"}


async def test_depth_limits_the_walk(pack: Mapping[str, Handler]) -> None:
    found = await run(pack, "gleif::discover_hierarchy", discover(seed.CLIENT, max_depth=1))
    assert [entity["depth"] for entity in found["entities"]] == [0, 1, 1, 1]
    assert found["truncated"] is False


async def test_number_of_entities_limits_the_walk_and_says_so(pack: Mapping[str, Handler]) -> None:
    found = await run(pack, "gleif::discover_hierarchy", discover(seed.CLIENT, max_entities=3))
    assert len(found["entities"]) == 3
    assert found["truncated"] is True


async def test_unknown_identifier_is_refused_in_gleifs_words(pack: Mapping[str, Handler]) -> None:
    with pytest.raises(RefusedError, match="GLEIF answered 404: No such resource"):
        await run(pack, "gleif::discover_hierarchy", discover(UNKNOWN))


async def test_identifier_with_wrong_check_digits_is_not_asked_for(pack: Mapping[str, Handler]) -> None:
    with pytest.raises(RefusedError, match=r"lei: .*check digits"):
        await run(pack, "gleif::discover_hierarchy", discover(seed.CLIENT[:-2] + "00"))


@pytest.mark.parametrize(("fault", "retry_after"), [("429", 1.0), ("500", None)])
async def test_failing_read_may_be_tried_again(
    base: str, pack: Mapping[str, Handler], fault: str, retry_after: float | None
) -> None:
    await control(base, "faults", {"next": fault, "on": "read"})
    with pytest.raises(TransientError) as caught:
        await run(pack, "gleif::discover_hierarchy", discover(seed.CLIENT))
    assert caught.value.retry_after == retry_after
    assert await run(pack, "gleif::discover_hierarchy", discover(seed.CLIENT))


async def test_officers_are_listed_over_pages_and_unknown_companies_named(pack: Mapping[str, Handler]) -> None:
    found = await run(pack, "register::list_officers", {"leis": [seed.CLIENT, seed.FUND, seed.CLIENT]})
    assert [officer["name"] for officer in found["officers"]] == ["Ingrid Halvorsen", "Jonas Brandt", "Peter Aasen"]
    assert found["missing"] == [seed.FUND]


async def test_shareholdings_are_followed_upwards(pack: Mapping[str, Handler]) -> None:
    found = await run(pack, "register::list_shareholdings", {"lei": seed.CLIENT, "max_companies": 50})
    assert [company["lei"] for company in found["companies"]] == [seed.CLIENT, seed.GROUP, seed.HOLDING]
    assert (found["missing"], found["truncated"]) == ([seed.FUND], False)


async def test_number_of_companies_limits_the_way_up_and_says_so(pack: Mapping[str, Handler]) -> None:
    found = await run(pack, "register::list_shareholdings", {"lei": seed.CLIENT, "max_companies": 1})
    assert len(found["companies"]) == 1
    assert found["truncated"] is True


async def evaluate(pack: Mapping[str, Handler], lei: str) -> JsonObject:
    hierarchy = await run(pack, "gleif::discover_hierarchy", discover(lei))
    leis = [entity["lei"] for entity in hierarchy["entities"]]
    params = {
        "case_id": "6f1c2b9e-4f0d-4f5b-9b57-0a3f6a1d2c44",
        "threshold_percent": "25",
        "required_documents": [],
        "hierarchy": hierarchy,
        "officers": await run(pack, "register::list_officers", {"leis": leis}),
        "shareholdings": await run(pack, "register::list_shareholdings", {"lei": lei, "max_companies": 50}),
        "client_documents": {"documents": []},
    }
    return await run(pack, "kyc::evaluate_ubo_completeness", params)


async def test_seeded_client_has_two_beneficial_owners(pack: Mapping[str, Handler]) -> None:
    result = await evaluate(pack, seed.CLIENT)
    assert result["complete"] is True
    owners = result["compiled_data"]["beneficial_owners"]
    assert [(owner["name"], owner["percent"]) for owner in owners] == [
        ("Ingrid Halvorsen", "36"),
        ("Tobias Lindqvist", "30.8"),
    ]
    assert result["compiled_data"]["unresolved_percent"] == "20"


async def test_seeded_incomplete_client_has_gaps(pack: Mapping[str, Handler]) -> None:
    result = await evaluate(pack, seed.INCOMPLETE)
    assert result["complete"] is False
    assert [gap["code"] for gap in result["gaps"]] == ["entity.lei_not_current", "ownership.holder_without_lei"]


REPORT = {"case_id": "c", "lei": seed.CLIENT, "report": {"beneficial_owners": []}}


async def test_report_filed_twice_with_one_key_is_filed_once(base: str, pack: Mapping[str, Handler]) -> None:
    first = await run(pack, "register::file_report", REPORT, "key-1")
    assert await run(pack, "register::file_report", REPORT, "key-1") == first
    assert await actions(base) == 1


async def test_key_used_for_another_report_is_refused(base: str, pack: Mapping[str, Handler]) -> None:
    await run(pack, "register::file_report", REPORT, "key-1")
    with pytest.raises(RefusedError, match="409: the idempotency key was used for another report"):
        await run(pack, "register::file_report", {**REPORT, "case_id": "other"}, "key-1")
    assert await actions(base) == 1


async def test_lost_reply_of_a_filing_is_found_by_its_key(base: str, pack: Mapping[str, Handler]) -> None:
    handler = pack["register::file_report"]
    assert handler.reconcile
    assert await handler.reconcile(call("register::file_report", REPORT, "key-1")) == Untouched()
    await control(base, "faults", {"next": "drop_reply_after_commit"})
    with pytest.raises(OutcomeUnknownError):
        await run(pack, "register::file_report", REPORT, "key-1")
    found = await handler.reconcile(call("register::file_report", REPORT, "key-1"))
    assert found == Done(await run(pack, "register::file_report", REPORT, "key-1"))
    assert await actions(base) == 1


@pytest.mark.parametrize(
    ("fault", "error"), [("500", OutcomeUnknownError), ("429", NotTakenError), ("hang", OutcomeUnknownError)]
)
async def test_filing_that_failed_before_it_was_done_did_nothing(
    base: str, fault: str, error: type[HandlerError]
) -> None:
    pack = handlers({**settings(base), "timeout": "0.3"})
    await control(base, "faults", {"next": fault})
    with pytest.raises(error):
        await run(pack, "register::file_report", REPORT, "key-1")
    assert await actions(base) == 0


@pytest.mark.parametrize("setting", ["register_token", "portal_token"])
async def test_wrong_token_can_be_mended_and_is_not_repeated_in_the_error(base: str, setting: str) -> None:
    pack = handlers({**settings(base), "callback_url": "https://countersign.example", setting: "wr0ng-token"})
    operation, params = ("register::file_report", REPORT) if setting == "register_token" else DOCUMENTS
    with pytest.raises(BlockedError, match="401") as caught:
        await run(pack, operation, params, "key-1")
    assert "wr0ng-token" not in str(caught.value)


async def test_operation_without_its_url_refuses(base: str) -> None:
    with pytest.raises(RefusedError, match="register is not set up"):
        await run(handlers({}), "register::file_report", REPORT, "key-1")


async def test_standin_refuses_a_fault_that_it_does_not_know(base: str) -> None:
    assert (await control(base, "faults", {"next": "explode"}))[0] == 400


def test_example_trigger_names_the_seeded_client() -> None:
    trigger = json.loads(Path("packs/kyc/example-trigger.json").read_text(encoding="utf-8"))
    assert trigger["lei"] == seed.CLIENT
    assert trigger["legal_name"] == seed.COMPANIES[seed.CLIENT].name


async def test_a_company_may_renew_its_registration(base: str, pack: Mapping[str, Handler]) -> None:
    lapsed = discover(seed.INCOMPLETE, max_depth=0)
    assert (await run(pack, "gleif::discover_hierarchy", lapsed))["root"]["registration_status"] == "LAPSED"
    assert (await control(base, "gleif/renewals", {"lei": seed.INCOMPLETE}))[0] == 204
    assert (await run(pack, "gleif::discover_hierarchy", lapsed))["root"]["registration_status"] == "ISSUED"
    assert (await control(base, "gleif/renewals", {"lei": UNKNOWN}))[0] == 404
    assert (await control(base, "gleif/renewals", {"company": "x"}))[0] == 400


@pytest.fixture
def completions() -> Completions:
    return []


@pytest.fixture
async def portal_base(completions: Completions) -> AsyncIterator[str]:
    async def complete(url: str, correlation_key: str, token: str, result: JsonObject) -> None:
        completions.append((url, correlation_key, token, result))

    async with TestServer(build(complete)) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
def portal_pack(portal_base: str) -> Mapping[str, Handler]:
    return handlers(
        {**settings(portal_base), "timeout": "2", "callback_url": "https://countersign.example/v1/notifications"}
    )


async def test_nothing_is_asked_of_a_client_when_no_answer_could_come(portal_base: str) -> None:
    operation, params = DOCUMENTS
    with pytest.raises(RefusedError, match="callback_url is missing"):
        await run(handlers(settings(portal_base)), operation, params, "key-1")
    assert await actions(portal_base) == 0


async def test_documents_are_requested_once_per_key_with_what_the_answer_needs(
    portal_base: str, portal_pack: Mapping[str, Handler]
) -> None:
    operation, params = DOCUMENTS
    first = await result_of(portal_pack[operation], call(operation, params, "key-1", "corr-1"))
    assert await result_of(portal_pack[operation], call(operation, params, "key-1", "corr-1")) == first
    assert await actions(portal_base) == 1
    asked = (await control(portal_base, "portal/requests"))[1]["requests"]
    assert asked == [
        {
            "kind": "documents",
            "correlation_key": "corr-1",
            "token": "token of corr-1",
            "callback_url": "https://countersign.example/v1/notifications",
            **params,
            **first,
            "key": "key-1",
        }
    ]


@pytest.mark.parametrize("fault", ["503_after_commit", "garbage_after_commit", "drop_reply_after_commit"])
async def test_lost_reply_of_a_request_to_the_client_is_found_by_its_key(
    portal_base: str, portal_pack: Mapping[str, Handler], fault: str
) -> None:
    operation, params = DOCUMENTS
    made = call(operation, params, "key-1", "corr-1")
    reconcile = portal_pack[operation].reconcile
    assert reconcile
    assert await reconcile(made) == Untouched()
    await control(portal_base, "faults", {"next": fault})
    with pytest.raises(OutcomeUnknownError):
        await result_of(portal_pack[operation], made)
    assert await reconcile(made) == Done(await result_of(portal_pack[operation], made))
    assert await actions(portal_base) == 1


async def test_upload_completes_the_request_through_its_callback(
    portal_base: str, portal_pack: Mapping[str, Handler], completions: Completions
) -> None:
    operation, params = DOCUMENTS
    started = await result_of(portal_pack[operation], call(operation, params, "key-1", "corr-1"))
    result = {"documents": [{"type": "shareholder_register", "name": "r.pdf", "sha256": "0" * 64}]}
    status, _ = await control(portal_base, "portal/upload", {**started, "result": result})
    assert status == 204
    assert completions == [("https://countersign.example/v1/notifications", "corr-1", "token of corr-1", result)]


async def test_upload_to_no_request_is_refused(portal_base: str) -> None:
    assert (await control(portal_base, "portal/upload", {"request_id": "REQ-0", "result": {}}))[0] == 404
    assert (await control(portal_base, "portal/upload", {"request": "REQ-0"}))[0] == 400


async def test_information_is_requested_with_the_gaps(portal_base: str, portal_pack: Mapping[str, Handler]) -> None:
    gaps = [{"code": "officers.none", "subject": seed.CLIENT, "msg": "The register lists no serving officer"}]
    params = {"case_id": "c", "gaps": gaps, "contact_email": "client@example.com", "message": "Please."}
    await run(portal_pack, "portal::request_information", params, "key-2")
    asked = (await control(portal_base, "portal/requests"))[1]["requests"]
    assert [(one["kind"], one["gaps"]) for one in asked] == [("information", gaps)]


async def _asked(pack: Mapping[str, Handler]) -> JsonObject:
    """Ask the client for documents; return what withdraws that."""
    operation, params = DOCUMENTS
    return {
        "case_id": params["case_id"],
        **await result_of(pack[operation], call(operation, params, "key-1", "corr-1")),
    }


async def test_a_request_is_withdrawn_once_and_then_takes_no_answer(
    portal_base: str, portal_pack: Mapping[str, Handler]
) -> None:
    asked = await _asked(portal_pack)
    for _ in range(2):
        withdrawn = await run(portal_pack, "portal::withdraw_request", asked, key="key-2")
        assert withdrawn == {"request_id": asked["request_id"]}
    assert await actions(portal_base) == 2
    upload = {"request_id": asked["request_id"], "result": {"documents": []}}
    status, said = await control(portal_base, "portal/upload", upload)
    assert (status, said["detail"]) == (409, "this request was withdrawn")


async def test_a_request_that_was_answered_is_not_withdrawn(
    portal_base: str, portal_pack: Mapping[str, Handler]
) -> None:
    asked = await _asked(portal_pack)
    await control(portal_base, "portal/upload", {"request_id": asked["request_id"], "result": {"documents": []}})
    with pytest.raises(RefusedError, match="answered 409: the client has answered this request"):
        await run(portal_pack, "portal::withdraw_request", asked, key="key-2")
    with pytest.raises(RefusedError, match="answered 404"):
        await run(portal_pack, "portal::withdraw_request", {**asked, "request_id": "REQ-0/../x"}, key="key-3")


async def test_whatever_a_case_asked_for_and_nobody_answered_is_withdrawn_at_once(
    portal_base: str, portal_pack: Mapping[str, Handler]
) -> None:
    operation, params = DOCUMENTS
    asked = [
        (await result_of(portal_pack[operation], call(operation, {**params, "case_id": case}, key, key)))["request_id"]
        for key, case in (("k1", "c"), ("k2", "c"), ("k3", "c"), ("k4", "other"))
    ]
    await control(portal_base, "portal/upload", {"request_id": asked[0], "result": {"documents": []}})
    everything = await run(portal_pack, "portal::withdraw_requests", {"case_id": "c"}, key="k5")
    assert everything == {"request_ids": asked[1:3]}
    again = await run(portal_pack, "portal::withdraw_requests", {"case_id": "c"}, key="k6")
    assert again == {"request_ids": []}
    status, _ = await control(portal_base, "portal/upload", {"request_id": asked[3], "result": {"documents": []}})
    assert status == 204, "another case is left alone"
