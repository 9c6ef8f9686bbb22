"""Bloomberg's Data License REST API, version 2, and the subsidiaries of an entity that it tells of.

The operation returns the subsidiaries of an entity and, if wanted, who votes with how much of each.

A data request costs money, so it is made once: under a name that follows from the step that asks, which is looked for
before anything is posted. Bloomberg works on it for minutes; until then there is no response.

The API's reference stands behind the login of its customers. What is public, and followed here, is the text of its
specification as generated clients carry it (version 2.8.8), and the customers' samples: the sign-in, the catalogs, the
request that brings its own universe and field list, the poll for its response, the form of errors, the limits. Where
that ends: which field holds subsidiaries, what its columns are called and how an entity is named are in Bloomberg's
field catalogue, behind the login, and are params of the verb.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from countersign_connector.http import Client, NotFoundError, Request, Service
from countersign_connector.models import Params, Remote, read_params
from pydantic import Field, RootModel, TypeAdapter, ValidationError

from runtime.clock import Clock
from runtime.handlers import Answer, BlockedError, Call, Handler, Json, JsonObject, RefusedError, TransientError

LATER = 1.0
"""Seconds after which to look again, at the earliest: that there is no response yet is a word, and no failure."""
_EARLY = timedelta(seconds=30)
_MEDIA_TYPES = "application/json, application/ld+json"


class _Token(Remote):
    access_token: str
    expires_in: int = Field(gt=0)  # seconds


class _Catalog(Remote):
    identifier: str
    subscription_type: str = Field(alias="subscriptionType")


class _Catalogs(Remote):
    contains: list[_Catalog]


class _Named(Remote):
    identifier: str


class _Created(Remote):
    request: _Named


class _Response(Remote):
    key: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")


class _Responses(Remote):
    contains: list[_Response]


class Rows(RootModel[list[JsonObject]]):
    """A response as JSON: an object for each security, with its return code (`RC`) and the fields by mnemonic."""


def service(base: str, timeout: float) -> Service:
    """Describe the API at `base`, whose requests Bloomberg counts."""
    headers = {"Accept": _MEDIA_TYPES, "api-version": "2"}
    return Service("Bloomberg", base, headers, timeout, _explain, counted_as="bloomberg")


@dataclass
class SignIn:
    """OAuth 2.0 client credentials (RFC 6749, section 4.4); a token is used until shortly before it expires."""

    url: str
    client_id: str
    client_secret: str
    timeout: float
    clock: Clock
    _token: str = field(default="", init=False)
    _until: datetime | None = field(default=None, init=False)

    async def headers(self) -> Mapping[str, str]:
        """Return the header that lets a request in; raise RefusedError where no credentials are set."""
        if not (self.client_id and self.client_secret):
            raise RefusedError("Bloomberg is not set up: bloomberg_client_id and bloomberg_client_secret are missing")
        now = self.clock()
        if self._until is None or now >= self._until:
            token = await self._sign_in()
            self._token, self._until = token.access_token, now + timedelta(seconds=token.expires_in) - _EARLY
        return {"Authorization": f"Bearer {self._token}"}

    def forget(self) -> None:
        """Sign in anew next time: the token is not let in any more."""
        self._until = None

    async def _sign_in(self) -> _Token:
        pair = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        signing = Service("Bloomberg's sign-in", self.url, {"Authorization": f"Basic {pair}"}, self.timeout, _explain)
        form = {"grant_type": "client_credentials"}
        async with signing.connect() as client:
            return await client.send(_Token, Request("POST", "", form=form, repeatable=True))


@dataclass(frozen=True)
class Asking:
    """One data request on its way, by one step of a run."""

    client: Client
    headers: Mapping[str, str]
    name: str

    async def rows(self, wanted: JsonObject) -> Rows:
        """Return the response, or raise TransientError as long as there is none."""
        catalog = await self._catalog()
        identifier = await self._find(catalog) or await self._ask(catalog, wanted)
        key = await self._response(catalog, identifier)
        if key is None:
            raise TransientError(f"Bloomberg has no response to the request {identifier} yet", LATER)
        return await self.client.send(Rows, self._get(f"/catalogs/{catalog}/content/responses/{key}"))

    async def _catalog(self) -> str:
        """Return the catalog in which the account may make requests."""
        found = await self.client.send(_Catalogs, self._get("/catalogs/"))
        own = [one.identifier for one in found.contains if one.subscription_type == "scheduled"]
        if not own:
            raise RefusedError("Bloomberg lists no catalog in which this account may make requests")
        return own[0]

    async def _find(self, catalog: str) -> str | None:
        try:
            return (await self.client.send(_Named, self._get(f"/catalogs/{catalog}/requests/{self.name}/"))).identifier
        except NotFoundError:
            return None

    async def _ask(self, catalog: str, wanted: JsonObject) -> str:
        body = {"@type": "DataRequest", "name": self.name, **wanted}
        path = f"/catalogs/{catalog}/requests/"
        made = await self.client.send(_Created, Request("POST", path, body=body, headers=self.headers, repeatable=True))
        self.client.count(data_requests=1)
        return made.request.identifier

    async def _response(self, catalog: str, identifier: str) -> str | None:
        query = {"prefix": self.name, "requestIdentifier": identifier}
        request = Request("GET", f"/catalogs/{catalog}/content/responses/", query, headers=self.headers)
        try:
            found = (await self.client.send(_Responses, request)).contains
        except NotFoundError:
            return None
        return found[0].key if found else None

    def _get(self, path: str) -> Request:
        return Request("GET", path, headers=self.headers)


def name_of(call: Call) -> str:
    """Return the name of the step's request: letters and digits, the same however often the step is tried."""
    return "cs" + hashlib.sha256(f"{call.tenant}\n{call.run_id}\n{call.step}".encode()).hexdigest()[:30]


def _explain(body: Json) -> str:
    """Join what a JSON:API document says of its errors, or take an OAuth error's description."""
    if not isinstance(body, dict):
        return ""
    errors = body.get("errors")
    if isinstance(errors, list):
        told = [str(one.get("detail") or one.get("title") or "") for one in errors if isinstance(one, dict)]
        if any(told):
            return "; ".join(filter(None, told))
    return str(body.get("error_description") or "")


_SUCCESS = "0"


class Columns(Params):
    """What the field catalogue calls the columns of the two fields."""

    name: str
    lei: str
    country: str
    voting_lei: str
    voting_percent: str


class SubsidiariesParams(Params):
    """Which entity, named how; and which fields hold the answer, with their columns."""

    entity_identifier: str = Field(pattern=r"^[A-Za-z0-9 ./-]{1,64}$")
    identifier_type: str
    include_voting_shares: bool
    subsidiaries_field: str
    voting_shares_field: str
    columns: Columns


class _Outcome(Remote):
    identifier: str = Field(alias="IDENTIFIER")
    code: str | int = Field(alias="RC")


_BULK: TypeAdapter[list[dict[str, str | int | float | None]]] = TypeAdapter(list[dict[str, str | int | float | None]])


def handlers(bloomberg: Service, sign_in: SignIn) -> dict[str, Handler]:
    """Return the operation of the connector `bloomberg`."""

    async def query(call: Call) -> Answer:
        params = read_params(SubsidiariesParams, call)
        async with bloomberg.connect() as client:
            asking = Asking(client, await sign_in.headers(), name_of(call))
            try:
                rows = await asking.rows(_wanted(params))
            except BlockedError:
                sign_in.forget()
                raise
            return client.answer(_result(params, rows.root))

    return {"bloomberg::query_subsidiaries": Handler(query, writes=False)}


def _wanted(params: SubsidiariesParams) -> JsonObject:
    """Return what a data request asks for, in one piece: universe, fields, at once, as JSON."""
    fields = [params.subsidiaries_field, *([params.voting_shares_field] if params.include_voting_shares else [])]
    entity = {"identifierType": params.identifier_type, "identifierValue": params.entity_identifier}
    return {
        "universe": {"@type": "Universe", "contains": [{"@type": "Identifier", **entity}]},
        "fieldList": {"@type": "DataFieldList", "contains": [{"mnemonic": mnemonic} for mnemonic in fields]},
        "trigger": {"@type": "SubmitTrigger"},
        "formatting": {"@type": "MediaType", "outputMediaType": "application/json"},
    }


def _result(params: SubsidiariesParams, rows: list[JsonObject]) -> JsonObject:
    row = _row(params, rows)
    columns = params.columns
    votes = _bulk(row, params.voting_shares_field) if params.include_voting_shares else []
    percents = {_text(vote.get(columns.voting_lei)): _text(vote.get(columns.voting_percent)) for vote in votes}
    return {
        "entity_identifier": params.entity_identifier,
        "subsidiaries": [
            {
                "name": _text(one.get(columns.name)),
                "lei": (lei := _text(one.get(columns.lei))),
                "country": _text(one.get(columns.country)),
                "voting_percent": percents.get(lei, "") if lei else "",
            }
            for one in _bulk(row, params.subsidiaries_field)
        ],
    }


def _row(params: SubsidiariesParams, rows: list[JsonObject]) -> JsonObject:
    """Return the one row of the entity, or raise RefusedError: a return code other than 0 says that there is none."""
    if len(rows) != 1:
        raise RefusedError(f"Bloomberg answered with {len(rows)} rows for one entity")
    try:
        outcome = _Outcome.model_validate(rows[0])
    except ValidationError:
        raise RefusedError("Bloomberg answered with a row without IDENTIFIER and RC") from None
    if str(outcome.code) != _SUCCESS:
        raise RefusedError(f"Bloomberg has no data on {params.entity_identifier}: return code {outcome.code}")
    return rows[0]


def _bulk(row: JsonObject, mnemonic: str) -> list[dict[str, str | int | float | None]]:
    """Return the rows of a bulk field, none where it is null; raise RefusedError where there is no such field."""
    if mnemonic not in row:
        raise RefusedError(f"Bloomberg answered without the field {mnemonic}")
    try:
        return _BULK.validate_python(row[mnemonic] or [], strict=True)
    except ValidationError:
        raise RefusedError(f"Bloomberg's field {mnemonic} is not a list of rows") from None


def _text(value: Json) -> str:
    return "" if value is None else str(value)
