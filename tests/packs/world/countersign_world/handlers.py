"""The handlers of the fault harness's verbs: each is one request to the upstream, or one look at what it did."""

from collections.abc import Mapping

from countersign_connector.http import Request, Service
from pydantic import BaseModel

from runtime.handlers import Call, Done, Handler, JsonObject, Reconciled, Untouched

_WRITES = ("note", "pay", "tell", "wipe", "leave", "ask_client")
_PATIENCE = 10.0
"""Seconds: longer than any verb's timeout, so that the runtime's own limit is the one that is tried."""


class WorldSettings(BaseModel):
    """Where the upstream is."""

    url: str


class _Act(BaseModel):
    entry: str


class _Acts(BaseModel):
    entries: list[str]


class _Seen(BaseModel):
    value: int


class _Upstream:
    def __init__(self, url: str) -> None:
        self._service = Service("world", url, {}, _PATIENCE, str)

    async def act(self, call: Call) -> JsonObject:
        body = {**call.params, "run": call.run_id, "correlation": call.correlation_key, "token": call.token}
        request = Request("POST", f"/act/{call.operation}", body=body, headers={"Idempotency-Key": call.key})
        async with self._service.connect() as client:
            return {"entry": (await client.send(_Act, request)).entry}

    async def reconcile(self, call: Call) -> Reconciled:
        async with self._service.connect() as client:
            acts = await client.get(_Acts, f"/acts/{call.operation}", {"key": call.key})
        return Done({"entry": acts.entries[0]}) if acts.entries else Untouched()

    async def look(self, call: Call) -> JsonObject:
        async with self._service.connect() as client:
            return {"value": (await client.get(_Seen, "/look", {"ref": str(call.params["ref"])})).value}


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the handlers of the upstream at `url`."""
    upstream = _Upstream(settings.get("url", ""))
    writes = {f"world::{name}": Handler(upstream.act, reconcile=upstream.reconcile) for name in _WRITES}
    return {**writes, "world::look": Handler(upstream.look, writes=False)}
