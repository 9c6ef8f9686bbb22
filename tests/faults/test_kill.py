"""The plug is pulled (kill -9) at the worst moments; after a restart the run ends and the other side acted once."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from countersign.config.settings import Settings
from countersign.embedded.case import KycCase, bring_in, step
from countersign.embedded.children import Child, running
from countersign.embedded.opa import free_port
from countersign.embedded.standins import Standins, standins
from countersign.embedded.system import embedded, until_answers
from sandbox.client import SandboxUser


@dataclass
class Plant:
    """The program in real processes: the front, and a worker whose plug can be pulled."""

    worker: Child
    others: Standins
    case: KycCase
    people: dict[str, SandboxUser]

    async def fault(self, kind: str) -> None:
        """Make the register's next write fail in a way."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.others.url}/__standin/faults", json={"next": kind}) as response,
        ):
            assert response.status < 300, await response.text()

    async def decide(self, person: str, *marks: str) -> None:
        """Approve the card that shows all the marks."""

        def fits(message: dict[str, Any]) -> bool:
            shown = json.dumps([message["text"], message["blocks"]])  # not its thread
            return self.case.run_id in shown and '"actions"' in shown and all(mark in shown for mark in marks)

        user = self.people[person]
        card = await user.find_card(fits, timeout=20)
        await user.click(card, "countersign_approve")
        if "Approval needed" in marks:  # what cannot be undone is signed with a reason
            await user.find_modal(timeout=20)
            await user.submit({"reason": "checked"})

    async def sign(self, fault: str) -> None:
        """Bring the case to its filing, which will fail in a way, and have two people approve it."""
        await self.case.upload()
        await self.decide("boris", "Review needed")
        await self.decide("anna", "Approval needed", "file_report")
        await self.fault(fault)
        await self.decide("boris", "Approval needed", "1 of 2")

    async def filings(self) -> int:
        return await self.others.actions("register::file_report")


@pytest.fixture
async def plant(tmp_path: Path) -> AsyncIterator[Plant]:
    port = free_port()
    settings = Settings(home=tmp_path / "home")
    quick = {"COUNTERSIGN_LEASE_SECONDS": "1", "COUNTERSIGN_SWEEP_SECONDS": "0.2"}
    async with AsyncExitStack() as stack:
        others = await stack.enter_async_context(standins(settings.home / "logs"))
        pack = others.pack(f"http://127.0.0.1:{port}")
        system = await stack.enter_async_context(embedded(settings, port=port, sandbox_port=0, pack=pack))
        front = system.serve("front", "edge", "bot", "sweeps", **quick)
        worker = system.serve("worker", "worker", **quick)
        await stack.enter_async_context(running(front))
        await stack.enter_async_context(running(worker))
        await until_answers(f"{system.edge}/readyz", front)
        people = {
            name: await stack.enter_async_context(SandboxUser(system.sandbox, user))
            for name, user in (("anna", "U0ANNA"), ("boris", "U0BORIS"))
        }
        yield Plant(worker, others, await bring_in(system, others, "case-1"), people)


async def _ends_well(plant: Plant) -> None:
    run = await plant.case.until(lambda run: run["status"] in ("succeeded", "failed_terminal"))
    assert run["status"] == "succeeded", run
    assert await plant.filings() == 1


async def test_a_worker_killed_while_the_run_is_parked(plant: Plant) -> None:
    await plant.case.until(lambda run: step(run, "documents") == "parked")
    await plant.worker.kill()
    await plant.case.upload()
    await plant.worker.start()
    await plant.decide("boris", "Review needed")
    await plant.decide("anna", "Approval needed", "file_report")
    await plant.worker.kill()
    await plant.worker.start()
    await plant.decide("boris", "Approval needed", "1 of 2")
    await _ends_well(plant)


async def test_a_worker_killed_while_the_effect_is_leased(plant: Plant) -> None:
    await plant.sign("hang")
    await plant.case.until(lambda run: step(run, "filing") == "running")
    await plant.worker.kill()
    assert await plant.filings() == 0
    await plant.worker.start()
    await _ends_well(plant)


async def test_a_worker_killed_between_the_act_and_its_receipt(plant: Plant) -> None:
    await plant.sign("hang_after_commit")
    await plant.case.until(lambda run: step(run, "filing") == "running")
    while await plant.filings() == 0:
        await plant.case.state()
    await plant.worker.kill()
    await plant.worker.start()
    await _ends_well(plant)
