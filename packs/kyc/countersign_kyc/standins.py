"""The pack's stand-ins: client portal and company register; as one application with those of GLEIF and Bloomberg.

`python -m countersign_kyc.standins --port N` serves it on this machine.

The portal of docs/packs.md keeps requests, and completes them when told what was uploaded.
`GET /__standin/portal/requests` lists what was asked. `POST /__standin/portal/upload` with `{"request_id": ...,
"result": {...}}` plays the client: the completion goes to the callback that the stand-in was built with.
The register of docs/packs.md files one report per idempotency key.
"""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web
from countersign_connector.models import Params, faults
from countersign_connector.standin import LEDGER, application, demand_token, problem, serve
from pydantic import ValidationError

from countersign_kyc import standin_bloomberg
from countersign_kyc import standin_gleif as gleif
from countersign_kyc.seed_data import COMPANIES, Company
from runtime.clock import utc_now
from runtime.handlers import JsonObject

PORTAL_PREFIX = "/portal"
PORTAL_TOKEN = "st-e83d05b7c94a"  # noqa: S105 - of a stand-in; no word, since its parts are taken out of records

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
            web.post(f"{PORTAL_PREFIX}/requests", self._open),
            web.get(f"{PORTAL_PREFIX}/requests", self._find),
            web.post(f"{PORTAL_PREFIX}/requests/{{request_id}}/withdrawal", self._withdraw),
            web.post(f"{PORTAL_PREFIX}/withdrawals", self._withdraw_all),
            web.get("/__standin/portal/requests", self._list),
            web.post("/__standin/portal/upload", self._upload),
        ]

    async def _open(self, request: web.Request) -> web.Response:
        """Open a request once per idempotency key."""
        demand_token(request, PORTAL_TOKEN)
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
        demand_token(request, PORTAL_TOKEN)
        key = request.query.get("idempotency_key", "")
        found = [{"request_id": one["request_id"]} for one in self._requests.values() if one["key"] == key]
        return web.json_response({"requests": found})

    async def _withdraw(self, request: web.Request) -> web.Response:
        """Withdraw a request, unless the client has answered it."""
        demand_token(request, PORTAL_TOKEN)
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
        demand_token(request, PORTAL_TOKEN)
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


REGISTER_PREFIX = "/register"
REGISTER_TOKEN = "st-7c1e94b0a6f2"  # noqa: S105 - of a stand-in; no word, since its parts are taken out of records
_PAGE_SIZE = 2


@dataclass(frozen=True)
class _Filed:
    body: JsonObject
    answer: JsonObject


class Register:
    """The register's endpoints and the reports filed there."""

    def __init__(self) -> None:
        self._filed: dict[str, _Filed] = {}

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoints."""
        company = f"{REGISTER_PREFIX}/companies/{{lei}}"
        return [
            web.get(f"{company}/officers", self._officers),
            web.get(f"{company}/shareholdings", self._shareholdings),
            web.get(f"{REGISTER_PREFIX}/reports", self._find),
            web.post(f"{REGISTER_PREFIX}/reports", self._file),
        ]

    async def _officers(self, request: web.Request) -> web.Response:
        return _page(request, "officers", _company(request).officers)

    async def _shareholdings(self, request: web.Request) -> web.Response:
        return _page(request, "shareholdings", _company(request).holders or ())

    async def _find(self, request: web.Request) -> web.Response:
        demand_token(request, REGISTER_TOKEN)
        filed = self._filed.get(request.query.get("idempotency_key", ""))
        return web.json_response({"reports": [filed.answer] if filed else []})

    async def _file(self, request: web.Request) -> web.Response:
        """File a report once per key; the same key with another body is a conflict."""
        demand_token(request, REGISTER_TOKEN)
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            raise problem(400, "the header Idempotency-Key is missing")
        body = await request.json()
        known = self._filed.get(key) if request.app[LEDGER].honours_keys else None
        if known and known.body != body:
            raise problem(409, "the idempotency key was used for another report")
        if known:
            return web.json_response(known.answer)
        answer = {"report_id": f"UBO-{secrets.token_hex(6)}", "filed_at": utc_now().isoformat()}
        self._filed[key] = _Filed(body, answer)
        request.app[LEDGER].act("register::file_report", key=key, target=body["lei"], report_id=answer["report_id"])
        return web.json_response(answer, status=201)


def _company(request: web.Request) -> Company:
    demand_token(request, REGISTER_TOKEN)
    company = COMPANIES.get(request.match_info["lei"])
    if company is None or company.holders is None:
        raise problem(404, "the register does not know this company")
    return company


def _page(request: web.Request, name: str, items: Sequence[JsonObject]) -> web.Response:
    text = request.query.get("page", "1")
    if not text.isdecimal() or int(text) < 1:
        raise problem(400, "page must be a number from 1")
    number = int(text)
    shown = items[(number - 1) * _PAGE_SIZE : number * _PAGE_SIZE]
    more = number * _PAGE_SIZE < len(items)
    return web.json_response({name: list(shown), "next_page": number + 1 if more else None})


def build(complete: Complete | None = None) -> web.Application:
    """Build GLEIF, Bloomberg, the register and the portal; `complete` delivers the portal's completions."""
    return application(
        [
            *gleif.Gleif().routes(),
            *standin_bloomberg.Bloomberg(utc_now).routes(),
            *Register().routes(),
            *Portal(complete).routes(),
        ]
    )


def settings(base: str) -> dict[str, str]:
    """Return the pack's settings for stand-ins that are served at `base`."""
    return {
        "gleif_url": f"{base}{gleif.PREFIX}",
        **standin_bloomberg.settings(base),
        "register_url": f"{base}{REGISTER_PREFIX}",
        "register_token": REGISTER_TOKEN,
        "portal_url": f"{base}{PORTAL_PREFIX}",
        "portal_token": PORTAL_TOKEN,
    }


if __name__ == "__main__":
    serve(build())
