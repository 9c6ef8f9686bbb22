"""``countersign demo``: the KYC case from trigger to verified evidence, in embedded mode, with people who click.

Everything is real but Slack and the other systems, which are stand-ins. What differs from what must be, ends it.
"""

import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from countersign.config.errors import CountersignError
from countersign.config.settings import Settings
from countersign.embedded.case import KycCase, bring_in, step
from countersign.embedded.children import Child, running
from countersign.embedded.opa import free_port
from countersign.embedded.standins import Standins, standins
from countersign.embedded.system import Embedded, embedded, until_answers
from evidence.verify.verify import VerificationError, verify
from sandbox.client import SandboxUser, messages

PEOPLE = {"anna": "U0ANNA", "boris": "U0BORIS", "rita": "U0RITA", "eve": "U0EXT", "gil": "U0GUEST"}


class DemoError(CountersignError):
    """Something was not as it must be."""


@dataclass
class Told:
    """The timeline, as it is told."""

    out: Console = field(default_factory=lambda: Console(highlight=False, markup=False, soft_wrap=True))
    began: float = field(default_factory=time.perf_counter)

    def chapter(self, title: str) -> None:
        """Begin a part."""
        self.out.print(f"\n{title}")

    def say(self, who: str, what: str) -> None:
        """Tell one event."""
        self.out.print(f"  {time.perf_counter() - self.began:5.1f} s  {who:<12} {what}")


def must(holds: object, what: str) -> None:
    """Raise DemoError unless something holds."""
    if not holds:
        raise DemoError(f"the demo differs from what must be: {what}")


async def demo(settings: Settings) -> None:
    """Play it; raise DemoError at the first thing that differs."""
    told = Told()
    home = settings.home.resolve() / "demo"
    shutil.rmtree(home, ignore_errors=True)
    settings = settings.model_copy(update={"home": home})
    async with _stage(settings, told) as stage:
        await _rejected(stage)
        run = await _approved(stage)
        bundle, sha256 = await _evidence(stage, run)
    told.out.print(f"\nsha256: {sha256}\nbundle: {bundle}\nkey: {home / 'keys' / 'evidence.pub.pem'}")


@dataclass
class Stage:
    """The running system, the people in its workspace, and the worker whose plug is pulled."""

    told: Told
    system: Embedded
    standins: Standins
    worker: Child
    people: dict[str, SandboxUser]


@asynccontextmanager
async def _stage(settings: Settings, told: Told) -> AsyncIterator[Stage]:
    told.chapter("Starting PostgreSQL, OPA, the sandbox workspace, and Countersign in two processes")
    port = free_port()
    async with AsyncExitStack() as stack:
        others = await stack.enter_async_context(standins(settings.home / "logs"))
        pack = others.pack(f"http://127.0.0.1:{port}")
        system = await stack.enter_async_context(embedded(settings, port=port, sandbox_port=0, pack=pack))
        front = system.serve("front", "edge", "bot", "sweeps", COUNTERSIGN_LEASE_SECONDS="2")
        worker = system.serve("worker", "worker", COUNTERSIGN_LEASE_SECONDS="2")
        await stack.enter_async_context(running(worker))
        await stack.enter_async_context(running(front))
        await until_answers(f"{system.edge}/readyz", front)
        people = {
            name: await stack.enter_async_context(SandboxUser(system.sandbox, user)) for name, user in PEOPLE.items()
        }
        told.say("system", "ready")
        yield Stage(told, system, others, worker, people)


async def _to_review(stage: Stage, ref: str) -> KycCase:
    case = await bring_in(stage.system, stage.standins, ref)
    stage.told.say("portal", f"brings in the case of Halvorsen Seefracht for Rita: {case.run_id}")
    await case.upload()
    stage.told.say("client", "uploads the two documents that were asked for")
    await case.until(lambda run: step(run, "review") == "parked")
    return case


async def _review(stage: Stage, case: KycCase) -> None:
    card = await _card(stage, "boris", case, "Review needed")
    await _decide(stage, "boris", card, "approve", "The ownership chain is complete.")
    await case.until(lambda run: step(run, "filing") == "waiting_approval")
    stage.told.say("policy", "a filing with the register is high tier: two people of compliance have to sign")


async def _rejected(stage: Stage) -> None:
    """A first attempt: two people who may not decide, and one who says no."""
    stage.told.chapter("First attempt")
    case = await _to_review(stage, "case-1")
    await _review(stage, case)
    card = await _card(stage, "anna", case, "Approval needed", "file_report")
    for person, why in (("eve", "is of another company"), ("gil", "is a guest"), ("rita", "asked for it herself")):
        await _refused(stage, person, card, why)
    await _decide(stage, "anna", card, "reject", "The share register is from 2019, please get the current one.")
    run = await case.until(lambda run: run["status"] == "failed_terminal")
    must("2019" in run["error"], "the reason of the rejection stands on the run")
    must(await stage.standins.actions("register::file_report") == 0, "nothing was filed")
    stage.told.say("system", "the run has ended, nothing was filed")


async def _approved(stage: Stage) -> KycCase:
    """The second attempt: the worker's plug is pulled while the run is parked; two people approve; one effect."""
    stage.told.chapter("Second attempt, with the current register")
    case = await _to_review(stage, "case-2")
    await _review(stage, case)
    card = await _card(stage, "anna", case, "Approval needed", "file_report")
    await stage.worker.kill()
    stage.told.say("kill -9", "the worker is gone while the run is parked")
    await _decide(stage, "anna", card, "approve", "Checked against the register extract.")
    stage.told.say("system", "her vote is on record although no worker is there")
    await stage.worker.start()
    stage.told.say("system", "a new worker starts; there is nothing that it has to load")
    card = await _card(stage, "boris", case, "Approval needed", "1 of 2")
    stage.told.say("card", "shows 1 of 2")
    await _decide(stage, "boris", card, "approve", "Second signature.")
    await case.until(lambda run: run["status"] == "succeeded")
    must(await stage.standins.actions("register::file_report") == 1, "the report was filed exactly once")
    stage.told.say("register", "the report was filed, once")
    return case


async def _evidence(stage: Stage, case: KycCase) -> tuple[Path, str]:
    """The bundle: verified as it is, and not verified with one byte changed."""
    stage.told.chapter("Evidence")
    run = await case.until(lambda run: bool(run["sha256"]))
    bundle, key = Path(run["location"]), stage.system.home / "keys" / "evidence.pub.pem"
    await stage.people["anna"].find_card(lambda message: run["sha256"] in message["text"])
    stage.told.say("thread", "the bundle's SHA-256 stands in the thread")
    report = verify(bundle, key)
    must(report.sha256 == run["sha256"], "the SHA-256 of the file is that of the database")
    stage.told.say("auditor", f"verifies it offline: {len(report.steps)} steps hold")
    changed = _with_one_byte_changed(bundle)
    try:
        verify(changed, key)
    except VerificationError as error:
        stage.told.say("auditor", f"changes one byte: {error}")
    else:
        raise DemoError("a changed byte was not found")
    finally:
        changed.unlink()
    return bundle, report.sha256


def _with_one_byte_changed(bundle: Path) -> Path:
    data = bytearray(bundle.read_bytes())
    place = data.index(b'"status":"succeeded"') + len(b'"status":"')
    data[place] ^= 1
    changed = bundle.with_name(f"changed-{bundle.name}")
    changed.write_bytes(data)
    return changed


async def _card(stage: Stage, person: str, case: KycCase, *marks: str) -> dict[str, Any]:
    """Wait for the run's card that can be clicked and shows all the marks."""

    def fits(message: dict[str, Any]) -> bool:
        shown = str((message["text"], message["blocks"]))  # not its thread
        return case.run_id in shown and "'actions'" in shown and all(mark in shown for mark in marks)

    return await stage.people[person].find_card(fits)


async def _decide(stage: Stage, person: str, card: dict[str, Any], verdict: str, reason: str) -> None:
    user = stage.people[person]
    result = await user.click(card, f"countersign_{verdict}")
    if verdict == "reject" or "Approval needed" in card["text"]:  # what cannot be undone is signed with a reason
        await user.find_modal()
        result = await user.submit({"reason": reason})
    must(not result.get("timed_out"), f"Slack's three seconds were kept for {person}")
    stage.told.say(person.title(), f"{verdict}s: {reason}")


async def _refused(stage: Stage, person: str, card: dict[str, Any], why: str) -> None:
    user = stage.people[person]
    before = len(messages(await user.see()))
    await user.click(card, "countersign_approve")
    said = await user.wait_for(lambda state: (found := messages(state)) and len(found) > before and found[0]["text"])
    stage.told.say(person.title(), f"clicks Approve and {why}: “{said}” Nobody else sees it.")
