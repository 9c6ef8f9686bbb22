"""A stand-in for the company register of docs/packs.md; it files one report per idempotency key."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web
from countersign_connector.standin import LEDGER, demand_token, problem

from countersign_kyc.seed_data import COMPANIES, Company
from runtime.clock import utc_now
from runtime.handlers import JsonObject

PREFIX = "/register"
TOKEN = "st-7c1e94b0a6f2"  # noqa: S105 - of a stand-in; no word, since its parts are taken out of records
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
        company = f"{PREFIX}/companies/{{lei}}"
        return [
            web.get(f"{company}/officers", self._officers),
            web.get(f"{company}/shareholdings", self._shareholdings),
            web.get(f"{PREFIX}/reports", self._find),
            web.post(f"{PREFIX}/reports", self._file),
        ]

    async def _officers(self, request: web.Request) -> web.Response:
        return _page(request, "officers", _company(request).officers)

    async def _shareholdings(self, request: web.Request) -> web.Response:
        return _page(request, "shareholdings", _company(request).holders or ())

    async def _find(self, request: web.Request) -> web.Response:
        demand_token(request, TOKEN)
        filed = self._filed.get(request.query.get("idempotency_key", ""))
        return web.json_response({"reports": [filed.answer] if filed else []})

    async def _file(self, request: web.Request) -> web.Response:
        """File a report once per key; the same key with another body is a conflict."""
        demand_token(request, TOKEN)
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
    demand_token(request, TOKEN)
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
