"""One KYC case, driven from outside as the world would drive it: the portal's trigger, the client's upload."""

import asyncio
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from countersign.config.errors import CountersignError
from countersign.config.settings import ROOT
from countersign.embedded.standins import Standins
from countersign.embedded.system import Embedded
from edge import client

PORTAL = "onboarding-portal"
PATIENCE = 20.0
_DOCUMENTS = ("certificate_of_incorporation", "shareholder_register")


class CaseError(CountersignError):
    """The case did not go on as it must; the message says where it stands."""


@dataclass(frozen=True)
class KycCase:
    """A case that the relationship manager Rita brought in through the onboarding portal."""

    system: Embedded
    standins: Standins
    run_id: str

    async def state(self) -> dict[str, Any]:
        """Return the run as the edge tells it."""
        found: dict[str, Any] = await client.get(
            self.system.edge, f"/v1/runs/{self.run_id}", PORTAL, self.system.caller_secret
        )
        return found

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until something holds of the run."""
        state: dict[str, Any] = {}
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds(state := await self.state()):
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            steps = ", ".join(f"{one['path']} {one['status']}" for one in state.get("steps", []))
            raise CaseError(f"waited in vain for {self.run_id}: {state.get('status')}; {steps}") from error
        return state

    async def upload(self) -> None:
        """Be the client: upload what was asked for; the portal reports it, signed."""
        async with asyncio.timeout(PATIENCE):
            while not (asked := await self._request()):
                await asyncio.sleep(0.05)
        documents = [{"type": kind, "name": f"{kind}.pdf", "sha256": "0" * 64} for kind in _DOCUMENTS]
        word = {
            "id": asked["request_id"],
            "type": "completed",
            "correlation_key": asked["correlation_key"],
            "result": {"documents": documents},
        }
        await client.post(self.system.edge, "/v1/notifications", word, PORTAL, self.system.caller_secret)

    async def _request(self) -> dict[str, Any] | None:
        await self.until(lambda run: step(run, "documents") == "parked")
        return next(iter(reversed(await self.standins.requests())), None)


def step(run: dict[str, Any], path: str) -> str:
    """Return a step's status."""
    return str(next(one["status"] for one in run["steps"] if one["path"] == path))


async def bring_in(system: Embedded, standins: Standins, ref: str) -> KycCase:
    """Send the trigger of the example case, as a new case, on behalf of Rita."""
    payload = json.loads((ROOT / "packs/kyc/example-trigger.json").read_text(encoding="utf-8"))
    payload["case_id"] = str(uuid.uuid4())
    body = {"ref": ref, "payload": payload, "on_behalf_of": "rita"}
    answer = await client.post(system.edge, "/v1/triggers/kyc.onboarding", body, PORTAL, system.caller_secret)
    return KycCase(system, standins, answer["run_id"])
