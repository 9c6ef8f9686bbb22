"""How far a click, a trigger and a look walk through the code: `make walks` prints what is measured here."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping

import pytest
from typer.testing import CliRunner

from bot.views.references import APPROVE
from countersign.cli.app import app
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from sandbox.harness import SandboxUser
from tests.bench import TENANT, Bench, open_bench
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import PACK, Targets
from tests.patience import MINUTE
from tests.walk import ROOT, Noting, Walk, walked

VOTE_FILES, VOTE_STATEMENTS = 61, 16
EFFECT_FILES = 66
SHOW_FILES = 15
NOTE = {"incident": "I1", "text": "seen", "api_token": "t0ken-of-a-test"}


def _say(what: str, walk: Walk) -> None:
    print(f"{what}: {len(walk.files)} files, {len(walk.functions)} functions, {len(walk.statements)} statements")  # noqa: T201
    for file in walk.files:
        names = sorted(name for at, name in walk.functions if at == file)
        print(f"  {file}: {', '.join(names)}")  # noqa: T201
    for statement in walk.statements:
        print(f"  SQL {statement[:150]}")  # noqa: T201


@pytest.fixture(autouse=True)
def no_log_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing logged that a command of an earlier test turned on: to log would be a part of the walk."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])


def _not_on(walk: Walk, heading: str) -> set[str]:
    """Return the files that docs/architecture.md names under a heading and that are not on the walk."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    said = page.partition(f"### {heading}\n")[2].partition("\n#")[0]
    named = set(re.findall(r"`([\w/]+\.py)`", said))
    assert len(named) > 5, f"docs/architecture.md: {heading}"
    return named - set(walk.files)


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        chatting(dsn, policy, targets, cursor_factory=Noting) as running,
    ):
        yield running


@pytest.fixture
async def bench(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Bench]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Noting) as found,
    ):
        yield found


async def _until_votes(chat: Chat, approval_id: str, count: int) -> None:
    """Wait until so many votes are counted, looking by a way that is not walked."""
    async with asyncio.timeout(MINUTE):
        while len(await chat.bench.meddle("SELECT person FROM votes WHERE approval_id = %s", approval_id)) < count:
            await asyncio.sleep(0.01)


async def _vote(chat: Chat, person: SandboxUser, approval_id: str) -> None:
    """Vote on the newest card, with a reason."""
    await person.click({**(await chat.cards())[0], "channel": CHANNEL}, APPROVE)
    await person.find_modal()
    assert (await person.submit({"reason": "seen and checked"}))["ok"]
    await _until_votes(chat, approval_id, 1)


async def test_a_click_walks_through_few_files_to_a_vote_that_is_counted(chat: Chat) -> None:
    ann, ben = await chat.person("ann"), await chat.person("ben")
    await _vote(chat, ben, await chat.file("before"))
    asked = await chat.file("1")
    with walked() as walk:
        await _vote(chat, ann, asked)
    _say("a click to a counted vote", walk)
    assert len(walk.files) <= VOTE_FILES
    assert len(walk.statements) <= VOTE_STATEMENTS
    assert not _not_on(walk, "A click becomes a counted vote")


async def test_a_trigger_walks_through_few_files_to_its_first_effect(bench: Bench, targets: Targets) -> None:
    await bench.start("bench.note", {**NOTE, "text": "before"}, "before")
    await bench.settle()
    performed = len(targets.note.calls)
    with walked() as walk:
        await bench.start("bench.note", NOTE, "1")
        await bench.settle()
    assert len(targets.note.calls) == performed + 1
    _say("a trigger to its first effect", walk)
    assert len(walk.files) <= EFFECT_FILES
    assert not _not_on(walk, "A trigger reaches its first effect")


async def test_runs_show_walks_through_few_files(bench: Bench, dsn: str) -> None:
    run_id = (await bench.start("bench.note", NOTE, "1")).run_id
    await bench.settle()
    env = {"COUNTERSIGN_DATABASE_URL": dsn, "COUNTERSIGN_TENANT": TENANT}
    await asyncio.to_thread(_shown, run_id, env)
    walk = await asyncio.to_thread(_shown, run_id, env)
    _say("runs show", walk)
    assert len(walk.files) <= SHOW_FILES
    assert not _not_on(walk, "`countersign runs show`")


def _shown(run_id: str, env: Mapping[str, str]) -> Walk:
    with walked() as walk:
        done = CliRunner().invoke(app, ["runs", "show", run_id], env=env)
    assert done.exit_code == 0, done.output
    assert run_id in done.output
    return walk
