"""The connectors of the benchmark's pack: they answer at once, and say when they were called where they are told to."""

import json
import socket
import time
from collections.abc import Mapping

from pydantic import BaseModel

from runtime.handlers import Call, Handler, JsonObject


class BenchSettings(BaseModel):
    """The port that is told of calls."""

    port: int


class Teller:
    """Sends word of each call in a datagram: who waits for it has the moment without asking anybody."""

    def __init__(self, port: str | None) -> None:
        self._to = ("127.0.0.1", int(port)) if port else None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    async def run(self, call: Call) -> JsonObject:
        """Do nothing, and tell of it."""
        if self._to is not None:
            said = (call.run_id, call.step, time.time(), call.correlation_key, call.token)
            self._socket.sendto(json.dumps(said).encode(), self._to)
        return {"ok": True}


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the pack's handlers; the setting `port` says where to tell of calls."""
    handler = Handler(run=Teller(settings.get("port")).run)
    operations = ("servicenow::add_work_note", "register::file_report", "portal::request_documents")
    return {**dict.fromkeys(operations, handler), "servicenow::read_incident": Handler(run=handler.run, writes=False)}
