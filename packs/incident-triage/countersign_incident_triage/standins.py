"""A stand-in for ServiceNow's Table API; `python -m countersign_incident_triage.standins --port N` serves it.

`POST /__standin/incidents` with `{"like": SYS_ID}` reports another incident like that one, and answers with it.
"""

from aiohttp import web
from countersign_connector.standin import LEDGER, application, serve

from countersign_incident_triage import table
from countersign_incident_triage.standin_records import QueryError, Record, Records
from runtime.handlers import JsonObject

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
