"""A client portal over REST and JSON, as docs/packs.md describes it: asks a client for something and calls back."""

from urllib.parse import quote

from countersign_connector.http import Request, Service
from countersign_connector.models import Params, Remote, read_params

from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled, RefusedError, Untouched


class DocumentsParams(Params):
    """Which documents to ask whom for, and what to tell them."""

    case_id: str
    document_types: list[str]
    contact_email: str
    message: str


class InformationParams(Params):
    """Which gaps a client is asked to fill."""

    case_id: str
    gaps: list[JsonObject]
    contact_email: str
    message: str


class WithdrawParams(Params):
    """Which request nobody wants an answer to any more."""

    case_id: str
    request_id: str


class WithdrawAllParams(Params):
    """Which case nobody wants an answer for any more."""

    case_id: str


class _Started(Remote):
    request_id: str


class _Withdrawn(Remote):
    request_ids: list[str]


class _Requests(Remote):
    requests: list[_Started]


def handlers(portal: Service, callback_url: str | None) -> dict[str, Handler]:
    """Return the operations of the connector `portal`; completions are sent to `callback_url`."""

    async def start(call: Call, kind: str, params: Params) -> JsonObject:
        """Open a request at the portal; the portal opens one per idempotency key, however often it is asked."""
        if not callback_url:
            raise RefusedError("portal is not set up: callback_url is missing in the settings, so no answer would come")
        wait = {"correlation_key": call.correlation_key, "token": call.token}
        body = {"kind": kind, **wait, "callback_url": callback_url}
        headers = {"Idempotency-Key": call.key}
        request = Request("POST", "/requests", body={**body, **params.model_dump()}, headers=headers)
        async with portal.connect() as client:
            return (await client.send(_Started, request)).model_dump()

    async def find(call: Call) -> Reconciled:
        async with portal.connect() as client:
            found = await client.get(_Requests, "/requests", {"idempotency_key": call.key})
        return Done(found.requests[0].model_dump()) if found.requests else Untouched()

    async def request_documents(call: Call) -> JsonObject:
        return await start(call, "documents", read_params(DocumentsParams, call))

    async def request_information(call: Call) -> JsonObject:
        return await start(call, "information", read_params(InformationParams, call))

    async def withdraw_request(call: Call) -> JsonObject:
        """Withdraw a request; one that was withdrawn before stays so, and one that was answered is refused."""
        params = read_params(WithdrawParams, call)
        path, headers = f"/requests/{quote(params.request_id, safe='')}/withdrawal", {"Idempotency-Key": call.key}
        async with portal.connect() as client:
            return (await client.send(_Started, Request("POST", path, body={}, headers=headers))).model_dump()

    async def withdraw_requests(call: Call) -> JsonObject:
        """Withdraw what a case has asked for and the client has not answered; it may be nothing."""
        params = read_params(WithdrawAllParams, call)
        headers = {"Idempotency-Key": call.key}
        async with portal.connect() as client:
            request = Request("POST", "/withdrawals", body=params.model_dump(), headers=headers)
            return (await client.send(_Withdrawn, request)).model_dump()

    return {
        "portal::withdraw_requests": Handler(withdraw_requests),
        "portal::withdraw_request": Handler(withdraw_request),
        "portal::request_documents": Handler(request_documents, reconcile=find),
        "portal::request_information": Handler(request_information, reconcile=find),
    }
