"""``countersign demo``: the story of a pack from trigger to verified evidence, in embedded mode, with people who click.

Everything is real but Slack and the other systems, which are stand-ins. What differs from what must be, ends it.
"""

import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from rich.console import Console

from countersign.embedded.case import PATIENCE, Case, step
from countersign.embedded.children import Child, Supervisor
from countersign.embedded.home import locked_home
from countersign.embedded.packs import actions, demos, example_of
from countersign.embedded.system import Embedded, Ports, embedded, workspace_file
from countersign.foreseen_errors import CountersignError
from countersign.settings import Settings
from evidence.verify.verify import VerificationError, verify
from runtime.handlers import Signature, Story
from sandbox.harness import SandboxError, SandboxUser, messages


class DemoError(CountersignError):
    """Something was not as it must be."""


@dataclass
class Told:
    """The timeline, as it is told."""

    out: Console = field(default_factory=lambda: Console(highlight=False, markup=False, emoji=False, soft_wrap=True))
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
        raise DemoError(f"the demo failed: {what}")


async def demo(settings: Settings) -> None:
    """Play it; raise DemoError at the first thing that differs."""
    home = settings.home.resolve() / "demo"
    supervisor = Supervisor()
    work = _play(settings.model_copy(update={"home": home}), supervisor)
    try:
        if await supervisor.until_told(work) is None:
            raise DemoError("stopped before its end")
    except (SandboxError, aiohttp.ClientError, TimeoutError) as error:
        raise DemoError(f"{str(error) or type(error).__name__}; the logs are in {home / 'logs'}") from error


async def _play(settings: Settings, supervisor: Supervisor) -> Path:
    told = Told()
    pack, story = _story(settings)
    async with _stage(settings, told, supervisor, pack, story) as stage:
        bundle, sha256 = await supervisor.guard(_acts(stage))
        key = stage.system.home / "keys" / "evidence.pub.pem"
    told.out.print(f"\nsha256: {sha256}\nbundle: {bundle}\nkey: {key}")
    return bundle


def _story(settings: Settings) -> tuple[str, Story]:
    """Return the first pack that has a story, and the story."""
    found = next(((name, demo.story) for name, demo in demos(settings).items() if demo.story), None)
    if found is None:
        raise DemoError("none of the packs that COUNTERSIGN_PACKS lists has a story to play")
    return found


@dataclass
class Stage:
    """The running system, the people in its workspace, and the worker whose plug is pulled."""

    told: Told
    system: Embedded
    worker: Child
    people: dict[str, SandboxUser]
    pack: str
    story: Story

    async def done(self) -> int:
        """Return how often the story's effect was done, counted at the other side."""
        return await actions(self.system.outside.standins[self.pack], self.story.operation)


@asynccontextmanager
async def _emptied(settings: Settings, supervisor: Supervisor) -> AsyncIterator[Embedded]:
    """Begin with an empty home, unless another demo has it."""
    with locked_home(settings.home) as home:
        for entry in home.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    async with embedded(settings, Ports.tried("127.0.0.1", 0, 0), supervisor) as system:
        yield system


@asynccontextmanager
async def _stage(
    settings: Settings, told: Told, supervisor: Supervisor, pack: str, story: Story
) -> AsyncIterator[Stage]:
    told.chapter("Starting PostgreSQL, OPA, the sandbox workspace, and Countersign in two processes")
    async with AsyncExitStack() as stack:
        system = await stack.enter_async_context(_emptied(settings, supervisor))
        front = system.serve("front", "edge", "bot", "sweeps", COUNTERSIGN_LEASE_SECONDS="2")
        worker = system.serve("worker", "worker", COUNTERSIGN_LEASE_SECONDS="2")
        await stack.enter_async_context(supervisor.running(worker))
        await stack.enter_async_context(supervisor.running(front))
        await supervisor.until_answers(front)
        people = {
            user["name"]: await stack.enter_async_context(SandboxUser(system.sandbox, user["id"]))
            for user in workspace_file()["users"]
        }
        told.say("system", "ready")
        yield Stage(told, system, worker, people, pack, story)


async def _acts(stage: Stage) -> tuple[Path, str]:
    await _rejected(stage)
    return await _evidence(stage, await _approved(stage))


async def _to_signature(stage: Stage) -> Case:
    """Bring a case to where the story's effect waits for signatures."""
    story, told = stage.story, stage.told
    example = example_of(stage.system.demos, stage.pack, story.example)
    case = await stage.system.outside.bring_in(stage.pack, example)
    told.say("trigger", f"{example.title}: {case.run_id}")
    await case.replied()
    if example.reply:
        told.say(example.reply.who, example.reply.does)
    for review in story.reviews:
        asked = partial(_is_at, review.step, "parked")
        await case.until(f"{review.step} to be asked for", asked)
        await _decide(stage, review, await _card(stage, review.person, case, "Review needed"), "approve")
    await case.until(f"{story.step} to need approval", partial(_is_at, story.step, "waiting_approval"))
    told.say("policy", story.rule)
    return case


def _is_at(path: str, status: str, run: dict[str, Any]) -> bool:
    return step(run, path) == status


async def _rejected(stage: Stage) -> None:
    """A first attempt: people who may not decide, and one who says no."""
    story = stage.story
    stage.told.chapter("First attempt")
    case = await _to_signature(stage)
    card = await _card(stage, story.rejection.person, case, "Approval needed", story.operation.partition("::")[2])
    for person, why in story.ineligible:
        await _refused(stage, person, card, why)
    await _decide(stage, story.rejection, card, "reject")
    run = await case.until("the end of the rejected run", lambda run: run["status"] in ("succeeded", "failed_terminal"))
    must(story.rejection.reason in f"{run['error']} {run['output']}", "the reason of the rejection stands on the run")
    must(await stage.done() == 0, story.not_done)
    stage.told.say("system", f"the run has ended, {story.not_done}")


async def _approved(stage: Stage) -> Case:
    """The second attempt: the worker's plug is pulled while the run is parked; two people approve; one effect."""
    story, told = stage.story, stage.told
    first, second = story.signatures
    told.chapter("Second attempt, with what was asked for")
    case = await _to_signature(stage)
    card = await _card(stage, first.person, case, "Approval needed", story.operation.partition("::")[2])
    await stage.worker.kill()
    told.say("kill -9", "the worker is gone while the run is parked")
    await _decide(stage, first, card, "approve")
    told.say("system", "the vote is on record although no worker is there")
    await stage.worker.start()
    told.say("system", "a new worker starts; there is nothing that it has to load")
    card = await _card(stage, second.person, case, "Approval needed", "1 of 2")
    told.say("card", "shows 1 of 2")
    await _decide(stage, second, card, "approve")
    await case.until("the end of the approved run", lambda run: run["status"] == "succeeded")
    must(await stage.done() == 1, story.done)
    told.say("other side", story.done)
    return case


async def _evidence(stage: Stage, case: Case) -> tuple[Path, str]:
    """The bundle: verified as it is, and not verified with one byte changed."""
    stage.told.chapter("Evidence")
    run = await case.until("its evidence", lambda run: bool(run["sha256"]))
    bundle, key = Path(run["location"]), stage.system.home / "keys" / "evidence.pub.pem"
    reader = stage.people[stage.story.signatures[0].person]
    await _found(reader, "the bundle's SHA-256 in the thread", lambda message: run["sha256"] in message["text"])
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


async def _card(stage: Stage, person: str, case: Case, *marks: str) -> dict[str, Any]:
    """Wait for the run's card that can be clicked and shows all the marks."""

    def fits(message: dict[str, Any]) -> bool:
        shown = str((message["text"], message["blocks"]))  # not its thread
        return case.run_id[-8:] in shown and "'actions'" in shown and all(mark in shown for mark in marks)

    return await _found(stage.people[person], f"a card of run {case.run_id} that shows {' and '.join(marks)}", fits)


async def _found(user: SandboxUser, what: str, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    try:
        return await user.find_card(fits, PATIENCE)
    except SandboxError as error:
        raise SandboxError(f"waited in vain for {what}: {error}") from error


async def _decide(stage: Stage, signature: Signature, card: dict[str, Any], verdict: str) -> None:
    person, user = signature.person, stage.people[signature.person]
    result = await user.click(card, f"countersign_{verdict}")
    if signature.reason:  # what cannot be undone is signed with one, and so is a no
        await user.find_modal(PATIENCE)
        result = await user.submit({"reason": signature.reason})
    must(not result.get("timed_out"), f"Slack's three seconds were kept for {person}")
    stage.told.say(person.title(), f"{verdict}s: {signature.reason or 'no reason is asked for'}")


async def _refused(stage: Stage, person: str, card: dict[str, Any], why: str) -> None:
    user = stage.people[person]
    before = len(messages(await user.see()))
    await user.click(card, "countersign_approve")
    said = await user.wait_for(
        lambda state: (found := messages(state)) and len(found) > before and found[0]["text"], PATIENCE
    )
    stage.told.say(person.title(), f"clicks Approve and {why}: “{said}” Nobody else sees it.")
