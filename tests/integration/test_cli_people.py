"""People from the command line: who they are, and who votes for whom, recorded and ended by named persons."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.inbox import inbox
from tests.bench import Bench
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.integration.test_cli import is_one_sentence

AWAY = ("people", "delegate", "ann", "--to", "sam", "--from", "2020-01-01T00:00:00Z")
UNTIL = ("--until", "2100-01-01T00:00:00+01:00")
BY = ("--as", "omar", "--reason", "on leave")


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path))


async def act(bench: Bench, env: dict[str, str], *words: str) -> Finished:
    """Run a command that puts acts on record, and apply them here, as a worker would."""
    acting = asyncio.create_task(command(*words, env=env))
    while not acting.done():
        for row in await bench.rows("SELECT notification_id FROM notifications WHERE status = 'received'"):
            await inbox.apply(bench.engine, row["notification_id"])
        await asyncio.wait([acting], timeout=0.05)
    return await acting


async def _json(env: dict[str, str], *words: str) -> Any:
    finished = await command("people", *words, "--json", env=env)
    assert (finished.code, finished.err) == (0, "")
    return json.loads(finished.out)


async def test_who_votes_for_whom_is_recorded_listed_shown_and_ended(bench: Bench, env: dict[str, str]) -> None:
    done = await act(bench, env, *AWAY, *UNTIL, "--group", "compliance", *BY, "--json")
    assert done.code == 0, done.err
    named = json.loads(done.out)["delegation_id"]
    assert {one["person"]: one["delegates"] for one in await _json(env, "list", "--group", "compliance")} == {
        "ann": ["sam"],
        "ben": [],
        "cat": [],
    }
    sam = await _json(env, "show", "sam")
    assert (sam["stands_in_for"], sam["slack"]) == (["ann"], ["T0ACME USAM"])
    ((told,), said) = (sam["delegations"], ("delegator", "delegate", "groups", "recorded_by", "reason", "ended_by"))
    assert [told[name] for name in said] == ["ann", "sam", ["compliance"], "omar", "on leave", None]
    over = await act(bench, env, "people", "undelegate", named, "--as", "ann", "--reason", "back early")
    assert (over.code, over.out) == (0, f"{named} is over\n")
    shown = await command("people", "show", "sam", env=env)
    assert "back early" in shown.out
    assert (await _json(env, "show", "sam"))["stands_in_for"] == []


async def test_what_cannot_be_is_one_sentence_and_changes_nothing(bench: Bench, env: dict[str, str]) -> None:
    denied = await act(bench, env, *AWAY, *UNTIL, "--as", "ben", "--reason", "on leave")
    assert is_one_sentence(denied, "nothing was done: denied by policy: Only the tenant's operators may do")
    assert is_one_sentence(await act(bench, env, *AWAY, *UNTIL, "--group", "legal", *BY), "ann is not in legal")
    assert is_one_sentence(await command("people", "show", "nobody", env=env), "there is no person nobody")
    for moment in ("tomorrow", "2100-01-01T00:00:00"):
        wrong = await command(*AWAY, "--until", moment, *BY, env=env)
        assert wrong.code == 2
        assert "2026-02-01T18:00:00+01:00" in " ".join(wrong.err.split())
    assert await bench.rows("SELECT 1 FROM delegations") == []
