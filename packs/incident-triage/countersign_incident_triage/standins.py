"""A stand-in for ServiceNow's Table API; `python -m countersign_incident_triage.standins --port N` serves it.

`POST /__standin/incidents` with `{"like": SYS_ID}` reports another incident like that one, and answers with it.
Behind it stand records: seed data, encoded queries, and how a record is shown.
"""

import re
import secrets

from aiohttp import web
from countersign_connector.standin import LEDGER, application, serve

from countersign_incident_triage import table
from runtime.clock import utc_now
from runtime.handlers import Json, JsonObject

Record = dict[str, str]

_CONDITION = re.compile(r"(?P<field>[a-z_]+)(?P<operator>!=|=|LIKE|IN)(?P<value>.*)", re.DOTALL)
_REFERENCES = {("incident", "assignment_group"): "sys_user_group", ("label_entry", "label"): "label"}
_STATES = {"1": "New", "2": "In Progress", "3": "On Hold", "6": "Resolved", "7": "Closed", "8": "Canceled"}
_DISPLAYS = {("incident", "state"): _STATES}
_JOURNALS = {("incident", "work_notes"), ("incident", "comments")}

VPN_INCIDENT = "a1f0c9d27b3e4c5f8a6b0d1e2f3a4b5c"
OUTAGE_INCIDENT = "b2e1d8c36a4f4b7e9c5d1e0f3b4a5c6d"
_DESK, _NETWORK = "c3d2e7b45f6a4c8d8e4f2a1b0c9d8e7f", "d4c3f6a54e7b4d9c9f5a3b2c1d0e9f8a"


_INCIDENTS: dict[str, Record] = {
    VPN_INCIDENT: {
        "number": "INC0010042",
        "short_description": "VPN drops every few minutes from the Rotterdam office",
        "description": "Since this morning the VPN client disconnects for about forty people.",
        "category": "inquiry",
        "assignment_group": _DESK,
        "impact": "2",
        "urgency": "2",
        "priority": "3",
        "state": "1",
    },
    OUTAGE_INCIDENT: {
        "number": "INC0010043",
        "short_description": "Booking database does not answer",
        "description": "All bookings fail; the database refuses every connection.",
        "category": "inquiry",
        "assignment_group": "",
        "impact": "1",
        "urgency": "1",
        "priority": "1",
        "state": "1",
    },
}


class QueryError(Exception):
    """The encoded query, the table or the record is not there."""


class Records:
    """Tables of records by sys_id. Journal fields go to sys_journal_field and read back empty, as in ServiceNow."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, Record]] = {
            "incident": {},
            "sys_user_group": {},
            "label": {},
            "label_entry": {},
            "sys_journal_field": {},
        }
        _seed(self)

    def table(self, name: str) -> dict[str, Record]:
        """Return a table by name."""
        if name not in self._tables:
            raise QueryError(f"Invalid table {name}")
        return self._tables[name]

    def get(self, table: str, sys_id: str) -> Record | None:
        """Return a record, or None."""
        return self.table(table).get(sys_id)

    def insert(self, table: str, values: Record, sys_id: str = "") -> Record:
        """Add a record; the system's own fields are filled in."""
        made = sys_id or secrets.token_hex(16)
        record = {**values, "sys_id": made, "sys_created_on": f"{utc_now():%Y-%m-%d %H:%M:%S}"}
        self.table(table)[made] = record
        return record

    def change(self, table: str, record: Record, values: Record) -> None:
        """Change fields of a record; what is given to a journal field is written to the journal instead."""
        for name, value in values.items():
            if (table, name) in _JOURNALS:
                entry = {"name": table, "element": name, "element_id": record["sys_id"], "value": value}
                self.insert("sys_journal_field", entry)
            elif name != "sys_id":
                record[name] = value

    def delete(self, table: str, sys_id: str) -> None:
        """Take a record away."""
        del self.table(table)[sys_id]

    def report_again(self, sys_id: str) -> Record | None:
        """Add another incident like a seeded one, as it was reported, under the next number."""
        told = _INCIDENTS.get(sys_id)
        number = f"INC{10042 + len(self.table('incident')):07d}"
        return self.insert("incident", {**told, "number": number}) if told else None

    def query(self, table: str, encoded: str) -> list[Record]:
        """Return the records that meet every condition of an encoded query."""
        conditions = [_condition(part) for part in encoded.split("^") if part]
        return [record for record in self.table(table).values() if all(_meets(record, one) for one in conditions)]

    def show(self, table: str, record: Record, fields: list[str], display: str, base: str) -> dict[str, Json]:
        """Show a record as `sysparm_fields` and `sysparm_display_value` ask for."""
        names = fields or sorted(record)
        return {name: self._value(table, name, record.get(name, ""), display, base) for name in names}

    def _value(self, table: str, name: str, value: str, display: str, base: str) -> Json:
        shown, link = value, {}
        target = _REFERENCES.get((table, name))
        if target and value:
            shown = self.table(target).get(value, {}).get("name", "")
            link = {"link": f"{base}/{target}/{value}"}
        shown = _DISPLAYS.get((table, name), {}).get(value, shown)
        if display == "all":
            return {"display_value": shown, "value": value, **link}
        if display == "true":
            return {"display_value": shown, **link} if link else shown
        return {"value": value, **link} if link else value


def _condition(part: str) -> tuple[str, str, str]:
    found = _CONDITION.fullmatch(part)
    if not found:
        raise QueryError(f"Invalid query {part}")
    return found["field"], found["operator"], found["value"]


def _meets(record: Record, condition: tuple[str, str, str]) -> bool:
    name, operator, wanted = condition
    held = record.get(name, "").lower()
    match operator:
        case "=":
            return held == wanted.lower()
        case "!=":
            return held != wanted.lower()
        case "IN":
            return held in wanted.lower().split(",")
        case _:
            return wanted.lower() in held


def _seed(records: Records) -> None:
    for name, sys_id in (("Service Desk", _DESK), ("Network", _NETWORK), ("Hardware", ""), ("Database", "")):
        records.insert("sys_user_group", {"name": name, "active": "true"}, sys_id)
    for name in ("vpn", "network", "hardware", "database", "needs triage", "major incident candidate"):
        records.insert("label", {"name": name, "active": "true", "viewable_by": "everyone", "type": "standard"})
    for sys_id, told in _INCIDENTS.items():
        records.insert("incident", dict(told), sys_id)


USER, PASSWORD = "desk", "e27f4a90d1c6b835"  # no words: what looks like a part of them is taken out of texts
_PATH = "/api/now/table"
_MAX_LIMIT = 10_000


class ServiceNow:
    """The Table API over a set of records."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoints that the pack uses."""
        return [
            web.get(f"{_PATH}/{{table}}", self._list),
            web.post(f"{_PATH}/{{table}}", self._create),
            web.get(f"{_PATH}/{{table}}/{{sys_id}}", self._read),
            web.patch(f"{_PATH}/{{table}}/{{sys_id}}", self._update),
            web.delete(f"{_PATH}/{{table}}/{{sys_id}}", self._delete),
            web.post("/__standin/incidents", self._report),
        ]

    async def _list(self, request: web.Request) -> web.Response:
        refusal = self._refusal(request)
        if refusal:
            return refusal
        name, query = request.match_info["table"], request.query
        try:
            found = self._records.query(name, query.get("sysparm_query", ""))
            offset, limit = int(query.get("sysparm_offset", "0")), int(query.get("sysparm_limit", str(_MAX_LIMIT)))
        except (QueryError, ValueError) as error:
            return _error(400, str(error), "")
        shown = [self._show(request, record) for record in found[offset : offset + limit]]
        return web.json_response({"result": shown}, headers={"X-Total-Count": str(len(found))})

    async def _read(self, request: web.Request) -> web.Response:
        refusal = self._refusal(request)
        record = None if refusal else self._record(request)
        if record is None:
            return refusal or _no_record()
        return web.json_response({"result": self._show(request, record)})

    async def _create(self, request: web.Request) -> web.Response:
        refusal = self._refusal(request)
        if refusal:
            return refusal
        name = request.match_info["table"]
        record = self._records.insert(name, await request.json())
        request.app[LEDGER].act(f"create {name}", target=record["sys_id"])
        location = f"{request.url.origin()}{_PATH}/{name}/{record['sys_id']}"
        return web.json_response({"result": self._show(request, record)}, status=201, headers={"Location": location})

    async def _update(self, request: web.Request) -> web.Response:
        refusal = self._refusal(request)
        record = None if refusal else self._record(request)
        if record is None:
            return refusal or _no_record()
        values: Record = await request.json()
        self._records.change(request.match_info["table"], record, values)
        request.app[LEDGER].act(f"update {request.match_info['table']}", target=record["sys_id"], fields=sorted(values))
        return web.json_response({"result": self._show(request, record)})

    async def _delete(self, request: web.Request) -> web.Response:
        refusal = self._refusal(request)
        record = None if refusal else self._record(request)
        if record is None:
            return refusal or _no_record()
        self._records.delete(request.match_info["table"], record["sys_id"])
        request.app[LEDGER].act(f"delete {request.match_info['table']}", target=record["sys_id"])
        return web.Response(status=204)

    async def _report(self, request: web.Request) -> web.Response:
        """Report another incident like the one that is named."""
        made = self._records.report_again((await request.json())["like"])
        return web.json_response(made) if made else _no_record()

    def _refusal(self, request: web.Request) -> web.Response | None:
        """Return the answer to a caller without the right credentials, or to an unknown table."""
        if request.headers.get("Authorization") != table.basic(USER, PASSWORD):
            return _error(401, "User Not Authenticated", "Required to provide Auth information")
        try:
            self._records.table(request.match_info["table"])
        except QueryError as error:
            return _error(400, str(error), "")
        return None

    def _record(self, request: web.Request) -> Record | None:
        return self._records.get(request.match_info["table"], request.match_info["sys_id"])

    def _show(self, request: web.Request, record: Record) -> JsonObject:
        fields = [name for name in request.query.get("sysparm_fields", "").split(",") if name]
        display = request.query.get("sysparm_display_value", "false")
        return self._records.show(
            request.match_info["table"], record, fields, display, f"{request.url.origin()}{_PATH}"
        )


def build() -> web.Application:
    """Build the stand-in with its seed data."""
    return application(ServiceNow(Records()).routes())


def settings(base: str) -> dict[str, str]:
    """Return the pack's settings for a stand-in that is served at `base`."""
    return {"servicenow_url": base, "servicenow_user": USER, "servicenow_password": PASSWORD}


def _error(status: int, message: str, detail: str) -> web.Response:
    return web.json_response({"error": {"message": message, "detail": detail}, "status": "failure"}, status=status)


def _no_record() -> web.Response:
    return _error(404, "No Record found", "Record doesn't exist or ACL restricts the record retrieval")


if __name__ == "__main__":
    serve(build())
