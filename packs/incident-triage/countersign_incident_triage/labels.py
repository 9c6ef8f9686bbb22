"""Labels on incidents: an entry in the table `label_entry` ties a label to a record.

Adding reads first and adds only what is not there, so it may be repeated until all labels are on the incident.
"""

from typing import Annotated

from countersign_connector.http import Client, Service
from countersign_connector.models import Remote, read_params
from pydantic import Field

from countersign_incident_triage import table
from countersign_incident_triage.incidents import IncidentParams, WriteParams
from countersign_incident_triage.table import Value
from runtime.handlers import Call, Handler, HandlerError, JsonObject, OutcomeUnknownError, RefusedError

_TABLE = "incident"
_MAX_ENTRIES = 200

# ServiceNow wants tag names without punctuation, and compares them without regard to case
Label = Annotated[str, Field(pattern=r"^[a-z0-9]+( [a-z0-9]+)*$", max_length=40)]


class LabelsParams(WriteParams):
    """The labels to have on the incident."""

    labels: list[Label] = Field(min_length=1, max_length=20)


class _Label(Remote):
    sys_id: Value
    name: Value


class _Labels(Remote):
    result: list[_Label]


class _Entry(Remote):
    sys_id: Value
    label: Value


class _Entries(Remote):
    result: list[_Entry]


class _EntryReply(Remote):
    result: _Entry


def handlers(servicenow: Service) -> dict[str, Handler]:
    """Return the operation of the connector `servicenow` on labels."""

    async def add_labels(call: Call) -> JsonObject:
        params = read_params(LabelsParams, call)
        async with servicenow.connect() as client:
            return await _add(client, params)

    async def find_labels(call: Call) -> JsonObject | None:
        params = read_params(LabelsParams, call)
        async with servicenow.connect() as client:
            ids = await _ids(client, params.labels)
            there = {entry.label.value for entry in await _entries(client, params)}
        return _result(params, []) if there.issuperset(ids.values()) else None

    async def present(call: Call) -> JsonObject:
        async with servicenow.connect() as client:
            entries = await _entries(client, read_params(LabelsParams, call))
        return {"labels": sorted(entry.label.name for entry in entries)}

    return {"servicenow::add_labels": Handler(add_labels, reconcile=find_labels, before=present)}


async def _add(client: Client, params: LabelsParams) -> JsonObject:
    ids = await _ids(client, params.labels)
    there = {entry.label.value for entry in await _entries(client, params)}
    added: list[JsonObject] = []
    for name, label in ids.items():
        if label not in there:
            added.append({"label": name, "entry": await _add_one(client, params, label, len(added))})
    return _result(params, added)


async def _add_one(client: Client, params: LabelsParams, label: str, done: int) -> str:
    """Add one entry and return its sys_id; once another was added, a failure no longer means that nothing was done."""
    values = {"label": label, "table": _TABLE, "table_key": params.sys_id, "title": params.number}
    try:
        reply = await client.send(_EntryReply, table.create("label_entry", values, ("sys_id", "label")))
    except HandlerError as error:
        if done:
            raise OutcomeUnknownError(f"{done} labels were added, then: {error}") from error
        raise
    return reply.result.sys_id.value


async def _ids(client: Client, names: list[str]) -> dict[str, str]:
    """Return the sys_ids of labels that everyone can see; a label that is not there is not made up."""
    conditions = {"nameIN": ",".join(names), "viewable_by!=": "me", "active=": "true"}
    found = await client.send(_Labels, table.find("label", conditions, ("sys_id", "name"), _MAX_ENTRIES))
    known = {label.name.value.lower(): label.sys_id.value for label in found.result}
    missing = [name for name in names if name not in known]
    if missing:
        raise RefusedError(f"ServiceNow has no shared label named {', '.join(missing)}")
    return {name: known[name] for name in names}


async def _entries(client: Client, params: IncidentParams) -> list[_Entry]:
    conditions = {"table=": _TABLE, "table_key=": params.sys_id}
    request = table.find("label_entry", conditions, ("sys_id", "label"), _MAX_ENTRIES)
    return (await client.send(_Entries, request)).result


def _result(params: LabelsParams, added: list[JsonObject]) -> JsonObject:
    return {"sys_id": params.sys_id, "labels": params.labels, "added": added}
