"""The corporate hierarchy from GLEIF's public API, version 1 (JSON:API)."""

from dataclasses import dataclass, field

from countersign_connector.http import Client, NotFoundError, Service
from countersign_connector.models import Params, Remote, read_params
from pydantic import Field

from countersign_kyc.lei import Lei
from runtime.handlers import Answer, Call, Handler, Json, JsonObject

_PAGE_SIZE = "100"
_MAX_PAGES = 50
_MEDIA_TYPE = "application/vnd.api+json"


class DiscoverParams(Params):
    """Where to start, and how far down and how wide to look."""

    lei: Lei
    max_depth: int = Field(ge=0, le=10)
    max_entities: int = Field(ge=1, le=500)


class _Name(Remote):
    name: str


class _Entity(Remote):
    legal_name: _Name = Field(alias="legalName")
    jurisdiction: str | None = None
    status: str | None = None


class _Registration(Remote):
    status: str


class _Attributes(Remote):
    entity: _Entity
    registration: _Registration


class _Record(Remote):
    id: Lei
    attributes: _Attributes

    def summary(self) -> JsonObject:
        entity = self.attributes.entity
        return {
            "lei": self.id,
            "legal_name": entity.legal_name.name,
            "jurisdiction": entity.jurisdiction or "",
            "status": entity.status or "",
            "registration_status": self.attributes.registration.status,
        }


class _GoldenCopy(Remote):
    publish_date: str = Field(alias="publishDate")


class _Meta(Remote):
    golden_copy: _GoldenCopy | None = Field(default=None, alias="goldenCopy")


class _One(Remote):
    data: _Record
    meta: _Meta = _Meta()


class _Links(Remote):
    next: str | None = None


class _Many(Remote):
    data: list[_Record]
    links: _Links = _Links()


class _Reason(Remote):
    reason: str


class _ExceptionData(Remote):
    attributes: _Reason


class _Exception(Remote):
    data: _ExceptionData


def service(base: str, timeout: float) -> Service:
    """Describe GLEIF's API at `base`, which allows so many requests a minute."""
    return Service("GLEIF", base, {"Accept": _MEDIA_TYPE}, timeout, _explain, counted_as="gleif")


def handlers(gleif: Service) -> dict[str, Handler]:
    """Return the operations of the connector `gleif`."""

    async def discover(call: Call) -> Answer:
        params = read_params(DiscoverParams, call)
        async with gleif.connect() as client:
            return client.answer(await _discover(client, params))

    return {"gleif::discover_hierarchy": Handler(discover, writes=False)}


async def _discover(client: Client, params: DiscoverParams) -> JsonObject:
    root = await client.get(_One, f"/lei-records/{params.lei}")
    crawl = _Crawl(client, params)
    await crawl.down(root.data)
    return {
        "root": root.data.summary(),
        "direct_parent": await _parent(client, params.lei, "direct"),
        "ultimate_parent": await _parent(client, params.lei, "ultimate"),
        "entities": list(crawl.found.values()),
        "truncated": crawl.truncated,
        "golden_copy": root.meta.golden_copy.publish_date if root.meta.golden_copy else "",
    }


async def _parent(client: Client, lei: str, level: str) -> JsonObject:
    """Return the parent of a level or, where none is reported, the reason that GLEIF publishes for it."""
    path = f"/lei-records/{lei}/{level}-parent"
    try:
        return {"entity": (await client.get(_One, path)).data.summary(), "exception": ""}
    except NotFoundError:
        return {"entity": None, "exception": await _exception(client, f"{path}-reporting-exception")}


async def _exception(client: Client, path: str) -> str:
    try:
        return (await client.get(_Exception, path)).data.attributes.reason
    except NotFoundError:
        return ""


@dataclass
class _Crawl:
    """A walk over the subsidiaries, breadth first; an entity seen before is not entered again, so cycles end."""

    client: Client
    params: DiscoverParams
    found: dict[str, JsonObject] = field(default_factory=dict)
    truncated: bool = False

    async def down(self, root: _Record) -> None:
        """Find the subsidiaries of `root` until the depth or the number of entities is reached."""
        self._add(root, "", 0)
        level = [root.id]
        for depth in range(1, self.params.max_depth + 1):
            level = [child for parent in level for child in await self._children(parent, depth)]

    async def _children(self, parent: str, depth: int) -> list[str]:
        """Add the direct children of `parent`, page by page, and return the LEIs of the new ones."""
        new: list[str] = []
        path: str | None = f"/lei-records/{parent}/direct-children"
        query = {"page[number]": "1", "page[size]": _PAGE_SIZE}
        for _ in range(_MAX_PAGES):
            if not path or self.truncated:
                return new
            page = await self._page(path, query)
            new += [record.id for record in page.data if self._add(record, parent, depth)]
            path, query = page.links.next, {}  # the link carries the page
        self.truncated = True
        return new

    async def _page(self, path: str, query: dict[str, str]) -> _Many:
        try:
            return await self.client.get(_Many, path, query)
        except NotFoundError:  # the entity itself was just read, so there are no children
            return _Many(data=[])

    def _add(self, record: _Record, parent: str, depth: int) -> bool:
        """Add an entity unless it is known or there is no more room; return whether it is new."""
        if record.id in self.found:
            return False
        if len(self.found) == self.params.max_entities:
            self.truncated = True
            return False
        self.found[record.id] = {**record.summary(), "parent_lei": parent, "depth": depth}
        return True


def _explain(body: Json) -> str:
    """Join the titles of a JSON:API error document."""
    errors = body.get("errors") if isinstance(body, dict) else None
    listed = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
    return "; ".join(str(error.get("detail") or error.get("title") or "") for error in listed)
