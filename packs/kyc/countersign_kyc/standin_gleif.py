"""A stand-in for GLEIF's API v1: JSON:API documents, paging by links, and its errors.

`POST /__standin/gleif/renewals` with `{"lei": ...}` plays a company that renews the registration of its LEI.
"""

from dataclasses import replace

from aiohttp import web
from countersign_connector.models import Params, faults
from countersign_connector.standin import problem
from pydantic import ValidationError

from countersign_kyc.lei import Lei
from countersign_kyc.seed_data import COMPANIES, Company
from runtime.handlers import Json, JsonObject

PREFIX = "/gleif/api/v1"
_MEDIA_TYPE = "application/vnd.api+json"
_MAX_PAGE_SIZE = 200
_SERVED_PAGE_SIZE = 2  # smaller than any client asks for, so that paging always happens
_META = {"goldenCopy": {"publishDate": "2026-03-02T00:00:00Z"}}


class Renewal(Params):
    """Which company renews its registration."""

    lei: Lei


class Gleif:
    """GLEIF's endpoints, and what it knows of the companies."""

    def __init__(self) -> None:
        self._companies = dict(COMPANIES)

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoints that the pack uses, and the one that plays a company."""
        record = f"{PREFIX}/lei-records/{{lei}}"
        return [
            web.get(record, self._record),
            web.get(f"{record}/direct-children", self._children),
            web.get(f"{record}/direct-parent", self._direct_parent),
            web.get(f"{record}/ultimate-parent", self._ultimate_parent),
            web.get(f"{record}/{{level}}-parent-reporting-exception", self._exception),
            web.post("/__standin/gleif/renewals", self._renew),
        ]

    def _asked(self, request: web.Request) -> Company | None:
        return self._companies.get(request.match_info["lei"])

    async def _renew(self, request: web.Request) -> web.Response:
        try:
            renewal = Renewal.model_validate_json(await request.text())
        except ValidationError as error:
            raise problem(400, faults(error)) from None
        company = self._companies.get(renewal.lei)
        if company is None:
            raise problem(404, "no such company")
        self._companies[renewal.lei] = replace(company, registration="ISSUED")
        return web.Response(status=204)

    async def _record(self, request: web.Request) -> web.Response:
        return _one(self._asked(request), request)

    async def _direct_parent(self, request: web.Request) -> web.Response:
        company = self._asked(request)
        return _one(self._companies.get(company.parent) if company else None, request)

    async def _ultimate_parent(self, request: web.Request) -> web.Response:
        company = self._asked(request)
        top = company
        while top and top.parent:
            top = self._companies[top.parent]
        return _one(top if top is not company else None, request)

    async def _exception(self, request: web.Request) -> web.Response:
        company = self._asked(request)
        if company is None or company.parent:
            return _not_found()
        category = f"{request.match_info['level'].upper()}_ACCOUNTING_CONSOLIDATION_PARENT"
        attributes = {"category": category, "reason": "NATURAL_PERSONS"}
        return _answer({"data": {"type": "reporting-exceptions", "id": company.lei, "attributes": attributes}})

    async def _children(self, request: web.Request) -> web.Response:
        """Serve one page of the direct children, with the links to the others."""
        try:
            number, size = int(request.query.get("page[number]", "1")), int(request.query.get("page[size]", "15"))
        except ValueError:
            number, size = 0, 0
        if number < 1 or not 1 <= size <= _MAX_PAGE_SIZE:
            return _answer({"errors": [{"status": "400", "title": "Bad Request", "detail": "Invalid page."}]}, 400)
        children = [company for company in self._companies.values() if company.parent == request.match_info["lei"]]
        return _answer(_page(children, number, min(size, _SERVED_PAGE_SIZE), request))


def _answer(document: JsonObject, status: int = 200) -> web.Response:
    return web.json_response({"jsonapi": {"version": "1.0"}, **document}, status=status, content_type=_MEDIA_TYPE)


def _not_found() -> web.Response:
    return _answer({"errors": [{"status": "404", "title": "Not Found", "detail": "No such resource."}]}, 404)


def _document(company: Company, request: web.Request) -> JsonObject:
    """Return the record of a company, with members that the pack does not read, as the real one has them."""
    address = {"language": "en", "addressLines": ["1 Harbour Street"], "city": "Port", "country": company.jurisdiction}
    own = str(request.url.origin().with_path(f"{PREFIX}/lei-records/{company.lei}"))
    parent = {"lei-record": f"{own}/direct-parent"}
    exception = {"reporting-exception": f"{own}/direct-parent-reporting-exception"}
    return {
        "type": "lei-records",
        "id": company.lei,
        "attributes": {
            "lei": company.lei,
            "entity": {
                "legalName": {"name": company.name, "language": "en"},
                "otherNames": [],
                "legalAddress": address,
                "headquartersAddress": address,
                "jurisdiction": company.jurisdiction,
                "category": "GENERAL",
                "status": "ACTIVE",
                "expiration": {"date": None, "reason": None},
            },
            "registration": {"status": company.registration, "corroborationLevel": "FULLY_CORROBORATED"},
            "bic": None,
        },
        "relationships": {"direct-parent": {"links": parent if company.parent else exception}},
        "links": {"self": own},
    }


def _one(company: Company | None, request: web.Request) -> web.Response:
    return _answer({"meta": _META, "data": _document(company, request)}) if company else _not_found()


def _page(companies: list[Company], number: int, size: int, request: web.Request) -> JsonObject:
    last = max(1, -(-len(companies) // size))
    shown = companies[(number - 1) * size : number * size]

    def link(page: int) -> str:
        return str(request.url.update_query({"page[number]": str(page), "page[size]": str(size)}))

    links: dict[str, Json] = {"first": link(1), "last": link(last)}
    if number < last:
        links["next"] = link(number + 1)
    pagination = {"currentPage": number, "perPage": size, "total": len(companies), "lastPage": last}
    data = [_document(company, request) for company in shown]
    return {"meta": {**_META, "pagination": pagination}, "links": links, "data": data}
