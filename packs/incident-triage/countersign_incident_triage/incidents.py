"""Incidents: reading one, adding a work note, assigning it, and setting an assignment back.

ServiceNow honours no idempotency key. A work note therefore carries a marker made of the key, and an assignment is
compared with what the incident holds and held before, so that an attempt in doubt can be settled by reading back. An
assignment is set back to what it was, unless somebody has changed it meanwhile: they had a reason.
"""

import hashlib
from typing import Annotated

from countersign_connector.http import Client, Service
from countersign_connector.models import Params, Remote, read_params
from pydantic import AfterValidator, Field

from countersign_incident_triage import table
from countersign_incident_triage.table import SysId, Value
from runtime.handlers import Answer, Call, Changed, Done, Handler, JsonObject, Reconciled, RefusedError, Untouched

_TABLE = "incident"
_CLOSED = ("6", "7", "8")
"""The states of an incident, as ServiceNow delivers them, in which nobody works on it: Resolved, Closed, Canceled."""
_ASSIGNMENT = ("sys_id", "category", "assignment_group")
_FIELDS = (
    *_ASSIGNMENT,
    "number",
    "short_description",
    "description",
    "impact",
    "urgency",
    "priority",
    "state",
)

Name = Annotated[str, Field(pattern=r"^[^\^\r\n]{1,80}$")]
Priority = Annotated[int, Field(ge=1, le=5)]


def _plain(note: str) -> str:
    """Refuse ServiceNow's escape from text into HTML."""
    if "[code]" in note.lower():
        raise ValueError("must not hold [code], which ServiceNow renders as HTML")
    return note


class IncidentParams(Params):
    """Which incident."""

    sys_id: SysId


class WriteParams(IncidentParams):
    """Which incident, and what policy and people want to know about it."""

    number: str
    priority: Priority


class NoteParams(WriteParams):
    """The work note to add."""

    note: Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_plain)]


class AssignParams(WriteParams):
    """The category and the group to set; groups are given by name."""

    category: Name
    assignment_group: Name


class _Scale(Remote):
    value: Annotated[str, Field(pattern=r"^[1-5]$")]


class _Assignment(Remote):
    sys_id: Value
    category: Value
    assignment_group: Value

    def summary(self) -> JsonObject:
        return {"category": self.category.value, "assignment_group": self.assignment_group.name}


class _Incident(_Assignment):
    number: Value
    short_description: Value
    description: Value
    impact: _Scale
    urgency: _Scale
    priority: _Scale
    state: Value


class _AssignmentReply(Remote):
    result: _Assignment


class _IncidentReply(Remote):
    result: _Incident


class _Record(Remote):
    sys_id: Value


class _RecordReply(Remote):
    result: _Record


class _RecordsReply(Remote):
    result: list[_Record]


def handlers(servicenow: Service) -> dict[str, Handler]:
    """Return the operations of the connector `servicenow` on incidents."""

    async def read_incident(call: Call) -> Answer:
        params = read_params(IncidentParams, call)
        async with servicenow.connect() as client:
            reply = await client.send(_IncidentReply, table.read(_TABLE, params.sys_id, _FIELDS))
            return client.answer(_incident(reply.result))

    async def add_work_note(call: Call) -> JsonObject:
        params = read_params(NoteParams, call)
        values = {"work_notes": f"{params.note}\n\n[{marker(call.key)}]"}
        async with servicenow.connect() as client:
            await client.send(_RecordReply, table.update(_TABLE, params.sys_id, values, ("sys_id",)))
        return _noted(params, call)

    async def find_work_note(call: Call) -> Reconciled:
        params = read_params(NoteParams, call)
        conditions = {"element_id=": params.sys_id, "element=": "work_notes", "valueLIKE": marker(call.key)}
        async with servicenow.connect() as client:
            found = await client.send(_RecordsReply, table.find("sys_journal_field", conditions, ("sys_id",), 1))
        return Done(_noted(params, call)) if found.result else Untouched()

    async def assign(call: Call) -> JsonObject:
        params = read_params(AssignParams, call)
        async with servicenow.connect() as client:
            return await _assign(client, params, call.before)

    async def find_assignment(call: Call) -> Reconciled:
        params = read_params(AssignParams, call)
        async with servicenow.connect() as client:
            now = await assignment_of(client, params.sys_id)
        if call.before is None:  # then nobody could say what the way back is
            return Changed(now)
        if now == {"category": params.category, "assignment_group": params.assignment_group}:
            return Done({"sys_id": params.sys_id, **now, "former": call.before})
        return Untouched() if now == call.before else Changed(now)

    async def present(call: Call) -> JsonObject:
        async with servicenow.connect() as client:
            return await assignment_of(client, read_params(AssignParams, call).sys_id)

    return {
        "servicenow::read_incident": Handler(read_incident, writes=False),
        "servicenow::add_work_note": Handler(add_work_note, reconcile=find_work_note),
        "servicenow::assign": Handler(assign, reconcile=find_assignment, before=present),
    }


def marker(key: str) -> str:
    """Return the mark that a work note carries; hexadecimal, so that it is safe in a query."""
    return f"countersign {hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _noted(params: NoteParams, call: Call) -> JsonObject:
    return {"sys_id": params.sys_id, "marker": marker(call.key)}


async def assignment_of(client: Client, sys_id: str) -> JsonObject:
    """Return the category and the group, by name, that an incident has now."""
    reply = await client.send(_AssignmentReply, table.read(_TABLE, sys_id, _ASSIGNMENT))
    return reply.result.summary()


async def _assign(client: Client, params: AssignParams, before: JsonObject | None) -> JsonObject:
    """Set category and group; the result says what they were, so that they can be restored."""
    group = await group_of(client, params.assignment_group)
    former = await assignment_of(client, params.sys_id) if before is None else before
    now = await set_assignment(client, params.sys_id, params.category, group)
    return {"sys_id": params.sys_id, **now, "former": former}


async def set_assignment(client: Client, sys_id: str, category: str, group: str) -> JsonObject:
    """Set the category and the group, by its sys_id, "" for none; return what the incident has then."""
    values = {"category": category, "assignment_group": group}
    reply = await client.send(_AssignmentReply, table.update(_TABLE, sys_id, values, _ASSIGNMENT))
    return reply.result.summary()


async def group_of(client: Client, name: str) -> str:
    """Return the sys_id of the one active group of that name: ServiceNow would store an unknown name as no group."""
    conditions = {"name=": name, "active=": "true"}
    found = await client.send(_RecordsReply, table.find("sys_user_group", conditions, ("sys_id",), 2))
    if len(found.result) != 1:
        raise RefusedError(f"ServiceNow has {len(found.result) or 'no'} active groups named {name!r}, not one")
    return found.result[0].sys_id.value


def _incident(found: _Incident) -> JsonObject:
    return {
        "sys_id": found.sys_id.value,
        "number": found.number.value,
        "short_description": found.short_description.value,
        "description": found.description.value,
        **found.summary(),
        "impact": int(found.impact.value),
        "urgency": int(found.urgency.value),
        "priority": int(found.priority.value),
        "state": found.state.name,
        "is_closed": found.state.value in _CLOSED,
    }


class EarlierAssignment(Params):
    """A category and a group by name, as an incident holds them; "" for none."""

    category: str
    assignment_group: str


class RestoreParams(WriteParams):
    """What was set, and what to set back; where something else stands by now, somebody else has decided since."""

    was_set: EarlierAssignment
    former: EarlierAssignment


def restore_handlers(servicenow: Service) -> dict[str, Handler]:
    """Return the operation of the connector `servicenow` that restores."""

    async def restore(call: Call) -> JsonObject:
        async with servicenow.connect() as client:
            return await _restore(client, read_params(RestoreParams, call))

    async def find(call: Call) -> Reconciled:
        params = read_params(RestoreParams, call)
        async with servicenow.connect() as client:
            now = await assignment_of(client, params.sys_id)
        if now == params.former.model_dump():
            return Done({"sys_id": params.sys_id, **now})
        return Untouched() if now == params.was_set.model_dump() else Changed(now)

    async def present(call: Call) -> JsonObject:
        async with servicenow.connect() as client:
            return await assignment_of(client, read_params(RestoreParams, call).sys_id)

    return {"servicenow::restore_assignment": Handler(restore, reconcile=find, before=present)}


async def _restore(client: Client, params: RestoreParams) -> JsonObject:
    now, former = await assignment_of(client, params.sys_id), params.former
    if now not in (params.was_set.model_dump(), former.model_dump()):
        held = f"{now['category']}, {now['assignment_group']}"
        raise RefusedError(f"somebody has changed the assignment since: it is {held}")
    group = await group_of(client, former.assignment_group) if former.assignment_group else ""
    return {"sys_id": params.sys_id, **await set_assignment(client, params.sys_id, former.category, group)}
