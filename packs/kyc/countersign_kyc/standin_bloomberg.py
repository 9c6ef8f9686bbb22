"""A stand-in for Bloomberg's sign-in and Data License REST API, as far as the pack asks them.

Tokens are demanded and expire, `api-version` is demanded, names are checked and used once, an application may send
1,200 requests a minute, errors are JSON:API documents, and a response is there from the second look on. The mnemonics
are invented: the real ones are in Bloomberg's field catalogue.
"""

import base64
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from aiohttp import web
from countersign_connector.standin import LEDGER

from countersign_kyc.seed_data import FIELDS, VOTES
from runtime.clock import Clock
from runtime.handlers import Json, JsonObject

PREFIX = "/bloomberg"
CLIENT_ID, CLIENT_SECRET = "b1c7d90f5a2e", "9f41c0a7d83e5b62"
ACCOUNT = "48151"
LIFETIME = 1800
RATE = 1200
_LOOKS = 2
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_DAY = "20260302"

Handling = Callable[[web.Request], Awaitable[web.Response]]


@dataclass
class _Asked:
    identifier: str
    body: JsonObject
    looks: int = 0

    @property
    def key(self) -> str:
        return f"{self.identifier}-{_DAY}.json"


class Bloomberg:
    """The endpoints, the tokens that were given out, and the requests that were made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.tokens: dict[str, datetime] = {}
        self._asked: dict[str, _Asked] = {}
        self._sent: deque[datetime] = deque()

    def routes(self) -> list[web.RouteDef]:
        """Return the endpoints."""
        own = f"{PREFIX}/eap/catalogs/{ACCOUNT}"
        return [
            web.post(f"{PREFIX}/token", self._token),
            web.get(f"{PREFIX}/eap/catalogs/", self._demanding(self._catalogs)),
            web.post(f"{own}/requests/", self._demanding(self._ask)),
            web.get(f"{own}/requests/{{name}}/", self._demanding(self._read)),
            web.get(f"{own}/content/responses/", self._demanding(self._list)),
            web.get(f"{own}/content/responses/{{key}}", self._demanding(self._response)),
        ]

    def _demanding(self, handle: Handling) -> Handling:
        """Let in who has a token, names the version, and sends no more than the limit."""

        async def handled(request: web.Request) -> web.Response:
            now = self._clock()
            while self._sent and self._sent[0] <= now - timedelta(minutes=1):
                self._sent.popleft()
            if len(self._sent) >= RATE:
                return _error(429, "Too Many Requests", {"Retry-After": "60"})
            self._sent.append(now)
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if self.tokens.get(token, now) <= now:
                return _error(401, "The access token is missing, wrong or expired.", {"WWW-Authenticate": "Bearer"})
            if request.headers.get("api-version") != "2":
                return _error(400, "The header api-version must be 2.")
            return await handle(request)

        return handled

    async def _token(self, request: web.Request) -> web.Response:
        pair = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {pair}":
            told = {"error": "invalid_client", "error_description": "Client authentication failed."}
            return web.json_response(told, status=401)
        if (await request.post()).get("grant_type") != "client_credentials":
            return web.json_response({"error": "unsupported_grant_type"}, status=400)
        token = secrets.token_hex(16)
        self.tokens[token] = self._clock() + timedelta(seconds=LIFETIME)
        return web.json_response({"access_token": token, "token_type": "Bearer", "expires_in": LIFETIME})

    async def _catalogs(self, request: web.Request) -> web.Response:
        del request
        own = {"identifier": ACCOUNT, "subscriptionType": "scheduled"}
        return web.json_response({"contains": [{"identifier": "bbg", "subscriptionType": "bulk"}, own]})

    async def _ask(self, request: web.Request) -> web.Response:
        """Take a request; a name is used once."""
        body = await request.json()
        name = str(body.get("name", ""))
        if body.get("@type") != "DataRequest" or not _NAME.fullmatch(name):
            return _error(400, "The name must begin with a letter and hold letters and digits alone.")
        if name in self._asked:
            return _error(409, f"There is a request {name} already.")
        asked = _Asked(f"r{secrets.token_hex(6)}", body)
        self._asked[name] = asked
        request.app[LEDGER].act("bloomberg::request", name=name)
        made = {"@type": "DataRequest", "identifier": asked.identifier}
        return web.json_response({"statusCode": 201, "request": made}, status=201)

    async def _read(self, request: web.Request) -> web.Response:
        asked = self._asked.get(request.match_info["name"])
        if asked is None:
            return _error(404, "There is no such request.")
        return web.json_response({"@type": "DataRequest", "identifier": asked.identifier})

    async def _list(self, request: web.Request) -> web.Response:
        """List the response from the second look on."""
        wanted = request.query.get("requestIdentifier")
        asked = next((one for one in self._asked.values() if one.identifier == wanted), None)
        if asked is None:
            return _error(404, "There is no such request.")
        asked.looks += 1
        ready = [{"key": asked.key, "metadata": {"DL_REQUEST_ID": asked.identifier}}] if asked.looks >= _LOOKS else []
        return web.json_response({"contains": ready})

    async def _response(self, request: web.Request) -> web.Response:
        asked = next((one for one in self._asked.values() if one.key == request.match_info["key"]), None)
        if asked is None or asked.looks < _LOOKS:
            return _error(404, "There is no such response.")
        return web.json_response([_row(asked)])


def settings(base: str) -> dict[str, str]:
    """Return the settings for a stand-in that is served at `base`."""
    return {
        "bloomberg_url": f"{base}{PREFIX}/eap",
        "bloomberg_token_url": f"{base}{PREFIX}/token",
        "bloomberg_client_id": CLIENT_ID,
        "bloomberg_client_secret": CLIENT_SECRET,
    }


def _row(asked: _Asked) -> JsonObject:
    entity = str(asked.body["universe"]["contains"][0]["identifierValue"])
    known = FIELDS.get(entity)
    fields = {one["mnemonic"]: _value(one["mnemonic"], entity) for one in asked.body["fieldList"]["contains"]}
    code = "0" if known is not None else "10"
    return {"DL_REQUEST_ID": asked.identifier, "IDENTIFIER": entity, "RC": code, **fields}


def _value(mnemonic: str, entity: str) -> Json:
    held = {"STANDIN_SUBSIDIARIES": FIELDS, "STANDIN_VOTING_SHARES": VOTES}.get(mnemonic, {})
    return held.get(entity)


def _error(status: int, detail: str, headers: dict[str, str] | None = None) -> web.Response:
    told = {"errors": [{"status": str(status), "title": detail, "detail": detail}]}
    return web.json_response(told, status=status, headers=headers)
