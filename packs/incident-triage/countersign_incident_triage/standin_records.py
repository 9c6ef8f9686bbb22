"""The records behind the ServiceNow stand-in: seed data, encoded queries, and how a record is shown."""

import re
import secrets

from runtime.clock import utc_now
from runtime.handlers import Json

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
