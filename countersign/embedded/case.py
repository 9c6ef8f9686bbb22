"""An example case of a pack, driven from outside as the world would drive it: a trigger, and what is asked answered."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from countersign.foreseen_errors import CountersignError
from edge import client
from runtime.handlers import Example, JsonObject

PATIENCE = 120.0
"""Seconds for what takes a few: the machine may be busy with others, and every wait ends as soon as it can."""
_LOOK = 0.1
_FAILED = ("failed_terminal", "canceled")

T = TypeVar("T")


class CaseError(CountersignError):
    """The case did not go on as it must; the message says what was waited for and where the logs are."""


@dataclass(frozen=True)
class Outside:
    """What the world outside has: the edge, the secret of each caller, and each pack's stand-ins."""

    edge: str
    secrets: Mapping[str, str]
    standins: Mapping[str, str]
    logs: Path

    async def bring_in(self, pack: str, example: Example) -> "Case":
        """Send the example's trigger as a new case, signed by its caller."""
        if pack not in self.standins:
            raise CaseError(f"the pack {pack} has no stand-ins here: COUNTERSIGN_PACK points it at systems of its own")
        if example.caller not in self.secrets:
            raise CaseError(f"COUNTERSIGN_CALLERS has no secret for {example.caller}, who brings in this case")
        try:
            payload = await example.payload(self.standins[pack])
        except aiohttp.ClientError as error:
            raise CaseError(f"the stand-ins of {pack} do not answer ({error}); the logs are in {self.logs}") from error
        body = {"ref": f"{example.name}-{uuid.uuid4()}", "payload": payload, "on_behalf_of": example.on_behalf_of}
        path = f"/v1/triggers/{example.trigger_type}"
        answer = await client.post(self.edge, path, body, example.caller, self.secrets[example.caller])
        return Case(self, pack, example, payload, answer["run_id"])


@dataclass(frozen=True)
class Case:
    """A case that was brought in, and its run."""

    outside: Outside
    pack: str
    example: Example
    payload: JsonObject
    run_id: str

    async def state(self) -> dict[str, Any]:
        """Return the run as the edge tells it."""
        secret = self.outside.secrets[self.example.caller]
        found: dict[str, Any] = await client.get(
            self.outside.edge, f"/v1/runs/{self.run_id}", self.example.caller, secret
        )
        return found

    async def until(self, what: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until something holds of the run; `what` says it in words for whoever waits in vain."""

        async def look(state: dict[str, Any]) -> dict[str, Any] | None:
            return state if holds(state) else None

        return await self._wait(what, look)

    async def replied(self) -> None:
        """Play the outside world: answer what the case asks of it, as soon as it does."""
        reply = self.example.reply
        if reply is None:
            return
        url = self.outside.standins[self.pack]
        word = await self._wait(f"what the {reply.who} is asked", lambda _: reply.find(url, self.payload))
        secret = self.outside.secrets[self.example.caller]
        # what is asked may be parked a moment after it was asked: until then nothing waits for the answer
        await self.until(f"{reply.step} to wait for it", lambda run: step(run, reply.step) == "parked")
        await client.post(self.outside.edge, "/v1/notifications", word, self.example.caller, secret)

    async def _wait(self, what: str, look: Callable[[dict[str, Any]], Awaitable[T | None]]) -> T:
        """Look again and again; give up after PATIENCE, or as soon as the run has failed."""
        state = await self.state()
        try:
            async with asyncio.timeout(PATIENCE):
                while (found := await look(state)) is None:
                    if state["status"] in _FAILED:
                        raise CaseError(self._in_vain(what, state))
                    await asyncio.sleep(_LOOK)
                    state = await self.state()
        except (TimeoutError, aiohttp.ClientError) as error:
            raise CaseError(self._in_vain(what, state)) from error
        return found

    def _in_vain(self, what: str, state: dict[str, Any]) -> str:
        steps = ", ".join(f"{one['path']} {one['status']}" for one in state["steps"])
        why = f" {error}" if (error := state.get("error")) else ""
        return (
            f"waited in vain for {what}: run {self.run_id} is {state['status']} ({steps}){why};"
            f" the logs are in {self.outside.logs}"
        )


def step(run: dict[str, Any], path: str) -> str:
    """Return a step's status."""
    return str(next(one["status"] for one in run["steps"] if one["path"] == path))
