"""A stand-in for the client portal of docs/packs.md: keeps requests, and completes them when told what was uploaded.

`GET /__standin/portal/requests` lists what was asked. `POST /__standin/portal/upload` with `{"request_id": ...,
"result": {...}}` plays the client: the completion goes to the callback that the stand-in was built with.
"""

import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web
from countersign_connector.models import Params, faults
from countersign_connector.standin import LEDGER, demand_token, problem
from pydantic import ValidationError

from runtime.handlers import JsonObject

PREFIX = "/portal"
TOKEN = "st-e83d05b7c94a"  # noqa: S105 - of a stand-in; no word, since its parts are taken out of records

# (callback URL, correlation key and token of the request, result): signs and delivers a completion
Complete = Callable[[str, str, str, JsonObject], Awaitable[None]]


class Upload(Params):
    """What the client gives in answer to a request."""

    request_id: str
    result: JsonObject


class Portal:
    """The portal's endpoints and the requests made there."""

    def __init__(self, complete: Complete | None) -> None:
        self._complete = complete
        self._requests: dict[str, JsonObject] = {}

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoints, and the ones that play the client."""
        return [
            web.post(f"{PREFIX}/requests", self._open),
            web.get(f"{PREFIX}/requests", self._find),
            web.post(f"{PREFIX}/requests/{{request_id}}/withdrawal", self._withdraw),
            web.post(f"{PREFIX}/withdrawals", self._withdraw_all),
            web.get("/__standin/portal/requests", self._list),
            web.post("/__standin/portal/upload", self._upload),
        ]

    async def _open(self, request: web.Request) -> web.Response:
        """Open a request once per idempotency key."""
        demand_token(request, TOKEN)
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            raise problem(400, "the header Idempotency-Key is missing")
        known = next((one for one in self._requests.values() if one["key"] == key), None)
        if known:
            return web.json_response({"request_id": known["request_id"]})
        request_id = f"REQ-{secrets.token_hex(6)}"
        body = await request.json()
        self._requests[request_id] = {**body, "request_id": request_id, "key": key}
        request.app[LEDGER].act(f"portal::request_{body['kind']}", key=key, request_id=request_id)
        return web.json_response({"request_id": request_id}, status=201)

    async def _find(self, request: web.Request) -> web.Response:
        demand_token(request, TOKEN)
        key = request.query.get("idempotency_key", "")
        found = [{"request_id": one["request_id"]} for one in self._requests.values() if one["key"] == key]
        return web.json_response({"requests": found})

    async def _withdraw(self, request: web.Request) -> web.Response:
        """Withdraw a request, unless the client has answered it."""
        demand_token(request, TOKEN)
        asked = self._requests.get(request.match_info["request_id"])
        if asked is None:
            raise problem(404, "no such request")
        if asked.get("is_answered"):
            raise problem(409, "the client has answered this request")
        if not asked.get("is_withdrawn"):
            _take_back(request, asked)
        return web.json_response({"request_id": asked["request_id"]})

    async def _withdraw_all(self, request: web.Request) -> web.Response:
        """Withdraw what a case has asked for; what was answered, or withdrawn before, is passed over."""
        demand_token(request, TOKEN)
        case_id = (await request.json())["case_id"]
        left = [one for one in self._requests.values() if one["case_id"] == case_id and _is_open(one)]
        for asked in left:
            _take_back(request, asked)
        return web.json_response({"request_ids": [asked["request_id"] for asked in left]})

    async def _list(self, request: web.Request) -> web.Response:
        del request
        return web.json_response({"requests": list(self._requests.values())})

    async def _upload(self, request: web.Request) -> web.Response:
        try:
            upload = Upload.model_validate_json(await request.text())
        except ValidationError as error:
            raise problem(400, faults(error)) from None
        asked = self._requests.get(upload.request_id)
        if asked is None:
            raise problem(404, "no such request")
        if asked.get("is_withdrawn"):
            raise problem(409, "this request was withdrawn")
        if self._complete is None:
            raise problem(409, "this stand-in was started without a way to deliver completions")
        await self._complete(asked["callback_url"], asked["correlation_key"], asked["token"], upload.result)
        asked["is_answered"] = True
        return web.Response(status=204)


def _is_open(asked: JsonObject) -> bool:
    return not (asked.get("is_answered") or asked.get("is_withdrawn"))


def _take_back(request: web.Request, asked: JsonObject) -> None:
    asked["is_withdrawn"] = True
    key = request.headers.get("Idempotency-Key", "")
    request.app[LEDGER].act("portal::withdraw_request", key=key, request_id=asked["request_id"])
