"""Setting an assignment back to what it was, unless somebody has changed it meanwhile: whoever has had a reason."""

from countersign_connector.http import Client, Service
from countersign_connector.models import Params, read_params

from countersign_incident_triage.incidents import WriteParams, assignment_of, group_of, set_assignment
from runtime.handlers import Call, Changed, Done, Handler, JsonObject, Reconciled, RefusedError, Untouched


class Assignment(Params):
    """A category and a group by name, as an incident holds them; "" for none."""

    category: str
    assignment_group: str


class RestoreParams(WriteParams):
    """What was set, and what to set back; where something else stands by now, somebody else has decided since."""

    was_set: Assignment
    former: Assignment


def handlers(servicenow: Service) -> dict[str, Handler]:
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
