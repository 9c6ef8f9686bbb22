"""The portal's operations of the KYC pack against its stand-in, over HTTP."""

from collections.abc import AsyncIterator, Mapping

import pytest
from aiohttp.test_utils import TestServer
from countersign_kyc import seed_data as seed
from countersign_kyc.handlers import handlers
from countersign_kyc.standins import build, settings

from runtime.handlers import Done, Handler, JsonObject, OutcomeUnknownError, RefusedError, Untouched
from tests.handled import result_of
from tests.integration.packs_stage import DOCUMENTS, Completions, actions, call, control, run


@pytest.fixture
def completions() -> Completions:
    return []


@pytest.fixture
async def base(completions: Completions) -> AsyncIterator[str]:
    async def complete(url: str, correlation_key: str, token: str, result: JsonObject) -> None:
        completions.append((url, correlation_key, token, result))

    async with TestServer(build(complete)) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
def pack(base: str) -> Mapping[str, Handler]:
    return handlers({**settings(base), "timeout": "2", "callback_url": "https://countersign.example/v1/notifications"})


async def test_nothing_is_asked_of_a_client_when_no_answer_could_come(base: str) -> None:
    operation, params = DOCUMENTS
    with pytest.raises(RefusedError, match="callback_url is missing"):
        await run(handlers(settings(base)), operation, params, "key-1")
    assert await actions(base) == 0


async def test_documents_are_requested_once_per_key_with_what_the_answer_needs(
    base: str, pack: Mapping[str, Handler]
) -> None:
    operation, params = DOCUMENTS
    first = await result_of(pack[operation], call(operation, params, "key-1", "corr-1"))
    assert await result_of(pack[operation], call(operation, params, "key-1", "corr-1")) == first
    assert await actions(base) == 1
    asked = (await control(base, "portal/requests"))[1]["requests"]
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
    base: str, pack: Mapping[str, Handler], fault: str
) -> None:
    operation, params = DOCUMENTS
    made = call(operation, params, "key-1", "corr-1")
    reconcile = pack[operation].reconcile
    assert reconcile
    assert await reconcile(made) == Untouched()
    await control(base, "faults", {"next": fault})
    with pytest.raises(OutcomeUnknownError):
        await result_of(pack[operation], made)
    assert await reconcile(made) == Done(await result_of(pack[operation], made))
    assert await actions(base) == 1


async def test_upload_completes_the_request_through_its_callback(
    base: str, pack: Mapping[str, Handler], completions: Completions
) -> None:
    operation, params = DOCUMENTS
    started = await result_of(pack[operation], call(operation, params, "key-1", "corr-1"))
    result = {"documents": [{"type": "shareholder_register", "name": "r.pdf", "sha256": "0" * 64}]}
    status, _ = await control(base, "portal/upload", {**started, "result": result})
    assert status == 204
    assert completions == [("https://countersign.example/v1/notifications", "corr-1", "token of corr-1", result)]


async def test_upload_to_no_request_is_refused(base: str) -> None:
    assert (await control(base, "portal/upload", {"request_id": "REQ-0", "result": {}}))[0] == 404
    assert (await control(base, "portal/upload", {"request": "REQ-0"}))[0] == 400


async def test_information_is_requested_with_the_gaps(base: str, pack: Mapping[str, Handler]) -> None:
    gaps = [{"code": "officers.none", "subject": seed.CLIENT, "msg": "The register lists no serving officer"}]
    params = {"case_id": "c", "gaps": gaps, "contact_email": "client@example.com", "message": "Please."}
    await run(pack, "portal::request_information", params, "key-2")
    asked = (await control(base, "portal/requests"))[1]["requests"]
    assert [(one["kind"], one["gaps"]) for one in asked] == [("information", gaps)]


async def _asked(pack: Mapping[str, Handler]) -> JsonObject:
    """Ask the client for documents; return what withdraws that."""
    operation, params = DOCUMENTS
    return {
        "case_id": params["case_id"],
        **await result_of(pack[operation], call(operation, params, "key-1", "corr-1")),
    }


async def test_a_request_is_withdrawn_once_and_then_takes_no_answer(base: str, pack: Mapping[str, Handler]) -> None:
    asked = await _asked(pack)
    for _ in range(2):
        withdrawn = await run(pack, "portal::withdraw_request", asked, key="key-2")
        assert withdrawn == {"request_id": asked["request_id"]}
    assert await actions(base) == 2
    upload = {"request_id": asked["request_id"], "result": {"documents": []}}
    status, said = await control(base, "portal/upload", upload)
    assert (status, said["detail"]) == (409, "this request was withdrawn")


async def test_a_request_that_was_answered_is_not_withdrawn(base: str, pack: Mapping[str, Handler]) -> None:
    asked = await _asked(pack)
    await control(base, "portal/upload", {"request_id": asked["request_id"], "result": {"documents": []}})
    with pytest.raises(RefusedError, match="answered 409: the client has answered this request"):
        await run(pack, "portal::withdraw_request", asked, key="key-2")
    with pytest.raises(RefusedError, match="answered 404"):
        await run(pack, "portal::withdraw_request", {**asked, "request_id": "REQ-0/../x"}, key="key-3")


async def test_whatever_a_case_asked_for_and_nobody_answered_is_withdrawn_at_once(
    base: str, pack: Mapping[str, Handler]
) -> None:
    operation, params = DOCUMENTS
    asked = [
        (await result_of(pack[operation], call(operation, {**params, "case_id": case}, key, key)))["request_id"]
        for key, case in (("k1", "c"), ("k2", "c"), ("k3", "c"), ("k4", "other"))
    ]
    await control(base, "portal/upload", {"request_id": asked[0], "result": {"documents": []}})
    everything = await run(pack, "portal::withdraw_requests", {"case_id": "c"}, key="k5")
    assert everything == {"request_ids": asked[1:3]}
    again = await run(pack, "portal::withdraw_requests", {"case_id": "c"}, key="k6")
    assert again == {"request_ids": []}
    status, _ = await control(base, "portal/upload", {"request_id": asked[3], "result": {"documents": []}})
    assert status == 204, "another case is left alone"
