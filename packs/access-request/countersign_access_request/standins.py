"""A stand-in for the access system of docs/packs.md.

`python -m countersign_access_request.standins --port N` serves it on this machine.

`POST /__standin/clock` with `{"minutes": N}` lets time pass for it, so that grants expire.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from aiohttp import web
from countersign_connector.models import Params, faults
from countersign_connector.standin import LEDGER, application, demand_token, problem, serve
from pydantic import Field, ValidationError

from countersign_access_request.grants import GrantParams
from runtime.clock import Clock, utc_now
from runtime.handlers import JsonObject

PREFIX = "/access"
TOKEN = "st-5b0d92f6e417"  # noqa: S105 - of a stand-in; no word, since its parts are taken out of records
ROLES = {"payments": ("reader", "operator"), "ledger": ("reader", "auditor"), "vault": ("reader",)}
ACCOUNTS = ("rita", "ivan", "omar")


class Passing(Params):
    """How much time passes at once."""

    minutes: int = Field(ge=1)


@dataclass
class _Grant:
    key: str
    asked: GrantParams
    grant_id: str
    granted_at: datetime
    revoked_at: datetime | None = None

    @property
    def expires_at(self) -> datetime:
        return self.granted_at + timedelta(minutes=self.asked.minutes)

    def shown(self, now: datetime) -> JsonObject:
        ended = self.revoked_at or (self.expires_at if self.expires_at <= now else None)
        state = "revoked" if self.revoked_at else "expired" if ended else "active"
        return {
            **self.asked.model_dump(include={"system", "account", "role"}),
            "grant_id": self.grant_id,
            "granted_at": self.granted_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
            "ended_at": ended.isoformat() if ended else "",
            "state": state,
        }


class AccessSystem:
    """The endpoints, and the grants made there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._passed = timedelta(0)
        self._grants: dict[str, _Grant] = {}

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoints, and the one that lets time pass."""
        return [
            web.get(f"{PREFIX}/grants", self._list),
            web.post(f"{PREFIX}/grants", self._grant),
            web.get(f"{PREFIX}/grants/{{grant_id}}", self._read),
            web.post(f"{PREFIX}/grants/{{grant_id}}/revoke", self._revoke),
            web.post("/__standin/clock", self._pass),
        ]

    @property
    def _now(self) -> datetime:
        return self._clock() + self._passed

    async def _list(self, request: web.Request) -> web.Response:
        """List the grants that meet every condition of the query."""
        demand_token(request, TOKEN)
        wanted = dict(request.query)
        key = wanted.pop("idempotency_key", None)
        rows = [one.shown(self._now) for one in self._grants.values() if key in (None, one.key)]
        met = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
        return web.json_response({"grants": met})

    async def _read(self, request: web.Request) -> web.Response:
        return web.json_response(self._named(request).shown(self._now))

    async def _grant(self, request: web.Request) -> web.Response:
        """Grant once per key; the same key with another body is a conflict."""
        demand_token(request, TOKEN)
        key, asked = _key(request), await _asked(request)
        known = next((one for one in self._grants.values() if one.key == key), None)
        if known and request.app[LEDGER].honours_keys:
            if known.asked != asked:
                raise problem(409, "the idempotency key was used for another grant")
            return web.json_response(known.shown(self._now))
        made = _Grant(key, asked, f"G-{secrets.token_hex(6)}", self._now)
        self._grants[made.grant_id] = made
        request.app[LEDGER].act("access::grant", key=key, target=asked.system, grant_id=made.grant_id)
        return web.json_response(made.shown(self._now), status=201)

    async def _revoke(self, request: web.Request) -> web.Response:
        """End a grant; one that has ended already stays as it is."""
        found = self._named(request)
        key = _key(request)
        if found.shown(self._now)["state"] == "active":
            found.revoked_at = self._now
            request.app[LEDGER].act("access::revoke", key=key, target=found.asked.system, grant_id=found.grant_id)
        return web.json_response(found.shown(self._now))

    async def _pass(self, request: web.Request) -> web.Response:
        try:
            self._passed += timedelta(minutes=Passing.model_validate_json(await request.text()).minutes)
        except ValidationError as error:
            raise problem(400, faults(error)) from None
        return web.Response(status=204)

    def _named(self, request: web.Request) -> _Grant:
        demand_token(request, TOKEN)
        found = self._grants.get(request.match_info["grant_id"])
        if found is None:
            raise problem(404, "there is no such grant")
        return found


def build(clock: Clock) -> web.Application:
    """Build the stand-in; nobody has any access."""
    return application(AccessSystem(clock).routes())


def settings(base: str) -> dict[str, str]:
    """Return the pack's settings for a stand-in that is served at `base`."""
    return {"access_url": f"{base}{PREFIX}", "access_token": TOKEN}


def _key(request: web.Request) -> str:
    key = request.headers.get("Idempotency-Key", "")
    if not key:
        raise problem(400, "the header Idempotency-Key is missing")
    return key


async def _asked(request: web.Request) -> GrantParams:
    """Return what a request asks for; 404 where there is no such system, role or account."""
    try:
        asked = GrantParams.model_validate_json(await request.text())
    except ValidationError as error:
        raise problem(400, faults(error)) from None
    if asked.system not in ROLES:
        raise problem(404, f"there is no system {asked.system}")
    if asked.role not in ROLES[asked.system]:
        raise problem(404, f"{asked.system} has no role {asked.role}")
    if asked.account not in ACCOUNTS:
        raise problem(404, f"there is no account {asked.account}")
    return asked


if __name__ == "__main__":
    serve(build(utc_now))
