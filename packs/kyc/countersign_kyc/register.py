"""A company register over REST and JSON, as docs/packs.md describes it: officers, shareholdings, and report filing."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Annotated, Literal, TypeVar

from countersign_connector.http import Client, NotFoundError, Request, Service
from countersign_connector.models import Params, Remote, read_params
from pydantic import AfterValidator, Field

from countersign_kyc.lei import Lei
from runtime.handlers import Answer, Call, Done, Handler, Json, JsonObject, Reconciled, RefusedError, Untouched

_HUNDRED = Decimal(100)
_MAX_PAGES = 50


def _percent(text: str) -> str:
    if not Decimal(0) < Decimal(text) <= _HUNDRED:
        raise ValueError("must be above 0 and at most 100")
    return text


# text, because binary floating point cannot hold 33.1 and ownership is compared with a threshold
Percent = Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,6})?$"), AfterValidator(_percent)]


class Holder(Remote):
    """Who holds shares: a person, or a company (with its LEI where it has one)."""

    kind: Literal["person", "company"]
    name: str
    percent: Percent
    person_id: str = ""
    lei: Lei | None = None
    country: str = ""


class Officer(Remote):
    """One officer of a company; `resigned_on` is empty while in office."""

    name: str
    role: str
    appointed_on: str
    resigned_on: str = ""


class _Page(Remote):
    next_page: int | None


G = TypeVar("G", bound=_Page)


class _Holdings(_Page):
    shareholdings: list[Holder]


class _Officers(_Page):
    officers: list[Officer]


class _Report(Remote):
    report_id: str
    filed_at: str


class _Reports(Remote):
    reports: list[_Report]


class OfficersParams(Params):
    """The companies whose officers are wanted."""

    leis: list[Lei] = Field(max_length=500)


class ShareholdingsParams(Params):
    """The company whose owners are wanted, and how many companies to look at on the way up."""

    lei: Lei
    max_companies: int = Field(ge=1, le=500)


class ReportParams(Params):
    """The report to file."""

    case_id: str
    lei: Lei
    report: JsonObject


def handlers(register: Service) -> dict[str, Handler]:
    """Return the operations of the connector `register`."""

    async def list_officers(call: Call) -> Answer:
        params = read_params(OfficersParams, call)
        async with register.connect() as client:
            return client.answer(await _all_officers(client, params.leis))

    async def list_shareholdings(call: Call) -> Answer:
        params = read_params(ShareholdingsParams, call)
        async with register.connect() as client:
            return client.answer(await _owners(client, params))

    async def file_report(call: Call) -> JsonObject:
        body = read_params(ReportParams, call).model_dump()
        request = Request("POST", "/reports", body=body, headers={"Idempotency-Key": call.key})
        async with register.connect() as client:
            return (await client.send(_Report, request)).model_dump()

    async def find_report(call: Call) -> Reconciled:
        async with register.connect() as client:
            found = await client.get(_Reports, "/reports", {"idempotency_key": call.key})
        return Done(found.reports[0].model_dump()) if found.reports else Untouched()

    return {
        "register::list_officers": Handler(list_officers, writes=False),
        "register::list_shareholdings": Handler(list_shareholdings, writes=False),
        "register::file_report": Handler(file_report, reconcile=find_report),
    }


async def _all_officers(client: Client, leis: list[str]) -> JsonObject:
    """List the officers of each company; those that the register does not know are named, not passed over."""
    officers: list[JsonObject] = []
    missing: list[str] = []
    for lei in dict.fromkeys(leis):
        try:
            officers += [{"lei": lei, **one.model_dump()} for one in await _officers(client, lei)]
        except NotFoundError:
            missing.append(lei)
    return {"officers": officers, "missing": missing}


async def _owners(client: Client, params: ShareholdingsParams) -> JsonObject:
    """Follow shareholdings upwards from a company through every corporate holder that has an LEI."""
    companies: list[JsonObject] = []
    missing: list[str] = []
    queue = [params.lei]
    for lei in queue:  # grows while it is walked; each company enters once
        if len(companies) + len(missing) == params.max_companies:
            break
        try:
            holders = await _holders(client, lei)
        except NotFoundError:
            missing.append(lei)
            continue
        companies.append({"lei": lei, "holders": [holder.model_dump() for holder in holders]})
        queue += dict.fromkeys(holder.lei for holder in holders if holder.lei and holder.lei not in queue)
    return {"companies": companies, "missing": missing, "truncated": len(companies) + len(missing) < len(queue)}


async def _holders(client: Client, lei: str) -> list[Holder]:
    pages = _pages(client, _Holdings, f"/companies/{lei}/shareholdings")
    return [holder async for page in pages for holder in page.shareholdings]


async def _officers(client: Client, lei: str) -> list[Officer]:
    pages = _pages(client, _Officers, f"/companies/{lei}/officers")
    return [officer async for page in pages for officer in page.officers]


async def _pages(client: Client, model: type[G], path: str) -> AsyncIterator[G]:
    for number in range(1, _MAX_PAGES + 1):
        page = await client.get(model, path, {"page": str(number)})
        yield page
        if page.next_page is None:
            return
    raise RefusedError(f"the register lists more than {_MAX_PAGES} pages at {path}")


def explain(body: Json) -> str:
    """Return the detail of a problem document (RFC 9457)."""
    return str(body.get("detail", "")) if isinstance(body, dict) else ""
