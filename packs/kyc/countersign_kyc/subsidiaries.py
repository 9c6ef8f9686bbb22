"""The operation: the subsidiaries of an entity and, if wanted, who votes with how much of each."""

from countersign_connector.http import Service
from countersign_connector.models import Params, Remote, read_params
from pydantic import Field, TypeAdapter, ValidationError

from countersign_kyc.bloomberg_client import Asking, SignIn, name_of
from runtime.handlers import Answer, Call, Handler, HeldError, Json, JsonObject, RefusedError

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
            except HeldError:
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
