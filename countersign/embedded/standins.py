"""The other systems of the KYC case, for the demo alone: GLEIF, the company register and the client portal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from countersign.embedded.children import Child, running
from countersign.embedded.opa import free_port
from countersign.embedded.system import until_answers


class Standins:
    """A running stand-in process: what it was asked, and what it did."""

    def __init__(self, url: str) -> None:
        self.url = url

    def pack(self, edge: str) -> dict[str, dict[str, str]]:
        """Return the settings that make the KYC pack talk to the stand-ins."""
        from countersign_kyc.standins import settings  # noqa: PLC0415 - the demo alone needs the pack's stand-ins

        return {"kyc": {**settings(self.url), "callback_url": f"{edge}/v1/notifications"}}

    async def requests(self) -> list[dict[str, Any]]:
        """Return what the client portal was asked."""
        return list((await self._get("portal/requests"))["requests"])

    async def actions(self, operation: str) -> int:
        """Return how often the operation was done, counted at the other side."""
        return sum(action["operation"] == operation for action in (await self._get("actions"))["actions"])

    async def _get(self, path: str) -> Any:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/__standin/{path}") as response:
            return await response.json()


@asynccontextmanager
async def standins(logs: Path) -> AsyncIterator[Standins]:
    """Run the stand-ins while the block lasts."""
    logs.mkdir(parents=True, exist_ok=True)
    port = free_port()
    child = Child("standins", ["-m", "countersign_kyc.standins", "--port", str(port)], {}, logs)
    async with running(child):
        url = f"http://127.0.0.1:{port}"
        await until_answers(f"{url}/__standin/actions", child)
        yield Standins(url)
