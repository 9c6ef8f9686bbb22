"""Labels on incidents: an entry in the table `label_entry` ties a label to a record.

Adding reads first and adds only what is not there, so it may be repeated until all labels are on the incident. What was
added, and is to be deleted to undo it, is what stands there now and did not before. Removing deletes those entries and
no others; what is gone already is as it should be, so it may be repeated, too.
"""

import asyncio
from collections.abc import Mapping
from typing import Annotated

from countersign_connector.http import Client, Request, Service
from countersign_connector.models import Params, Remote, read_params
from pydantic import Field

from countersign_incident_triage import table
from countersign_incident_triage.incidents import IncidentParams, WriteParams
from countersign_incident_triage.table import SysId, Value
from runtime.handlers import (
    Call,
    Changed,
    Done,
    Handler,
    HandlerError,
    JsonObject,
    NotTakenError,
    OutcomeUnknownError,
    Reconciled,
    RefusedError,
    Untouched,
)

_TABLE = "incident"
_MAX_ENTRIES = 200
_PATIENCE = 5
"""Tries at an entry that is not taken, once another was added: half the labels would be a doubt."""

# ServiceNow wants tag names without punctuation, and compares them without regard to case
Label = Annotated[str, Field(pattern=r"^[a-z0-9]+( [a-z0-9]+)*$", max_length=40)]


class LabelsParams(WriteParams):
    """The labels to have on the incident."""

    labels: list[Label] = Field(min_length=1, max_length=20)


class AddedLabel(Params):
    """A label, and the entry that put it on the incident."""

    label: Label
    entry: SysId


class RemoveParams(WriteParams):
    """The entries to delete, as adding them gave them."""

    entries: list[AddedLabel] = Field(max_length=20)


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
            ids = await _ids(client, params.labels)
            there = await _entries(client, params)
            entries = _by_label(there)
            missing = [label for label in ids.values() if label not in entries]
            entries |= await _add(client, params, missing)
        return _result(params, ids, entries, _names(there) if call.before is None else call.before["labels"])

    async def find_labels(call: Call) -> Reconciled:
        params = read_params(LabelsParams, call)
        async with servicenow.connect() as client:
            ids = await _ids(client, params.labels)
            there = await _entries(client, params)
        entries = _by_label(there)
        if call.before is None:  # then nobody could say which were added
            return Changed({"labels": _names(there)})
        if entries.keys() >= set(ids.values()):
            return Done(_result(params, ids, entries, call.before["labels"]))
        as_before = _there_before(ids, call.before["labels"]) == {name for name in ids if ids[name] in entries}
        return Untouched() if as_before else Changed({"labels": _names(there)})

    async def present(call: Call) -> JsonObject:
        async with servicenow.connect() as client:
            return {"labels": _names(await _entries(client, _incident(call)))}

    async def remove_labels(call: Call) -> JsonObject:
        params = read_params(RemoveParams, call)
        async with servicenow.connect() as client:
            return await _remove(client, params)

    return {
        "servicenow::add_labels": Handler(add_labels, reconcile=find_labels, before=present),
        "servicenow::remove_labels": Handler(remove_labels, before=present),
    }


async def _remove(client: Client, params: RemoveParams) -> JsonObject:
    """Delete those of the entries that are still on the incident: an entry elsewhere is none of ours."""
    there = {entry.sys_id.value for entry in await _entries(client, params)}
    ours = [one for one in params.entries if one.entry in there]
    removed = [one.label for one in ours if await client.delete(table.place("label_entry", one.entry))]
    return {"sys_id": params.sys_id, "removed": removed}


async def _add(client: Client, params: LabelsParams, missing: list[str]) -> dict[str, str]:
    """Add entries and return them by label; once one was added, a failure no longer means that nothing was done."""
    added: dict[str, str] = {}
    for label in missing:
        values = {"label": label, "table": _TABLE, "table_key": params.sys_id, "title": params.number}
        request = table.create("label_entry", values, ("sys_id", "label"))
        try:
            added[label] = await _create(client, request, _PATIENCE if added else 1)
        except HandlerError as error:
            if added:
                raise OutcomeUnknownError(f"{len(added)} labels were added, then: {error}") from error
            raise
    return added


async def _create(client: Client, request: Request, tries: int) -> str:
    """Return the new entry; a rate limit is waited out as long as there are tries."""
    while True:
        tries -= 1
        try:
            return (await client.send(_EntryReply, request)).result.sys_id.value
        except NotTakenError as error:
            if not tries:
                raise
            await asyncio.sleep(1.0 if error.retry_after is None else error.retry_after)


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


def _incident(call: Call) -> WriteParams:
    """Return which incident a call is about, whatever else it says."""
    return read_params(LabelsParams if "labels" in call.params else RemoveParams, call)


def _by_label(entries: list[_Entry]) -> dict[str, str]:
    return {entry.label.value: entry.sys_id.value for entry in entries}


def _names(entries: list[_Entry]) -> list[str]:
    return sorted(entry.label.name for entry in entries)


def _there_before(ids: Mapping[str, str], before: list[str]) -> set[str]:
    """Return which of the wanted labels were there before; ServiceNow compares names without regard to case."""
    return {name.lower() for name in before} & ids.keys()


def _result(params: LabelsParams, ids: Mapping[str, str], entries: Mapping[str, str], before: list[str]) -> JsonObject:
    former = _there_before(ids, before)
    added = [{"label": name, "entry": entries[label]} for name, label in ids.items() if name not in former]
    return {"sys_id": params.sys_id, "labels": params.labels, "added": added}
