"""Canceling several runs, and undoing, from the command line: listed first, and done by a named person with --yes."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.inbox import inbox
from tests.bench import Bench
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.integration.test_cli import is_one_sentence
from tests.integration.undo_stage import Shelves, bench, ran, shelves

__all__ = ["bench", "shelves"]

BY = ("--as", "omar", "--reason", "entered twice")


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return environment(settings_of(dsn, opa.url, tmp_path))


async def _act(bench: Bench, env: dict[str, str], *words: str, by: Sequence[str] = BY) -> Finished:
    """Run a command that puts acts on record, and apply them here, as a worker would."""
    acting = asyncio.create_task(command(*words, *by, env=env))
    while not acting.done():
        for row in await bench.rows("SELECT notification_id FROM notifications WHERE status = 'received'"):
            await inbox.apply(bench.engine, row["notification_id"])
        await asyncio.wait([acting], timeout=0.05)
    return await acting


async def _standing(env: dict[str, str], *words: str) -> dict[str, Any]:
    listed = await command(*words, *BY, "--json", env=env)
    assert (listed.code, listed.err) == (0, "")
    return {item["step"]: item["standing"] for item in json.loads(listed.out)}


async def test_an_undo_is_listed_with_the_irreversible_before_it_is_done(
    bench: Bench, env: dict[str, str], shelves: Shelves
) -> None:
    run_id = await ran(bench, "three")
    listed = await command("undo", run_id, *BY, env=env)
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.splitlines()[0].split() == ["step", "what", "target", "standing", "why"]
    assert listed.out.endswith("2 of 3 can be undone; nothing was done: add --yes\n")
    assert await _standing(env, "undo", run_id) == {"third": "possible", "second": "irreversible", "first": "possible"}
    assert await bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []
    assert shelves.take.calls == []


async def test_an_undo_is_done_with_yes_and_says_by_which_run(
    bench: Bench, env: dict[str, str], shelves: Shelves
) -> None:
    run_id = await ran(bench, "three")
    done = await _act(bench, env, "undo", run_id, "--yes")
    (undo,) = await bench.rows("SELECT run_id, requested_by FROM runs WHERE trigger_type = 'countersign.undo'")
    assert (done.code, undo["requested_by"]) == (0, "omar")
    assert done.out.endswith(f"2 are undone by {undo['run_id']}\n")
    again = await _act(bench, env, "undo", run_id, "--step", "third", "--yes")
    assert is_one_sentence(again, f"nothing was done: nothing of it can be undone; third: {undo['run_id']} is at it")
    listed = await command("undo", run_id, *BY, env=env)
    assert listed.out.endswith("0 of 3 can be undone; nothing was done\n"), "there is nothing to confirm"
    await bench.settle()
    assert len(shelves.take.calls) == 2


async def test_of_a_run_that_policy_does_not_let_one_stop_nothing_is_undone(
    bench: Bench, env: dict[str, str], shelves: Shelves
) -> None:
    run_id = await ran(bench, "asking")
    told = await _act(bench, env, "cancel", run_id, "--undo", "--yes", by=("--as", "ann", "--reason", "mine"))
    assert is_one_sentence(told, "nothing was done: denied by policy: Only the tenant's operators may do this")
    assert (await bench.run(run_id))["status"] == "waiting"
    assert shelves.take.calls == []


async def test_a_run_is_canceled_and_undone_in_one_go(bench: Bench, env: dict[str, str], shelves: Shelves) -> None:
    run_id = await ran(bench, "asking")
    assert await _standing(env, "cancel", run_id, "--undo") == {"asked": "possible", "kept": "possible"}
    done = await _act(bench, env, "cancel", run_id, "--undo", "--yes")
    assert (done.code, done.err) == (0, "")
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "canceled"
    assert {call.params["entry"] for call in shelves.take.calls} == {"e-asked", "e-kept"}


async def test_runs_are_chosen_by_reference_or_runbook_and_canceled_each_by_an_act_of_its_own(
    bench: Bench, env: dict[str, str]
) -> None:
    first = (await bench.start("undo.asking", {}, ref="case-1")).run_id
    bench.clock.move(seconds=1)
    second = (await bench.start("undo.asking", {}, ref="case-2")).run_id
    other = (await bench.start("undo.three", {}, ref="case-1")).run_id
    await bench.settle()  # which ends the other
    listed = await command("cancel", "--definition", "asking", *BY, "--json", env=env)
    assert [row["run_id"] for row in json.loads(listed.out)] == [first, second]
    told = await command("cancel", "--reference", "case-1", *BY, env=env)
    assert first in told.out
    assert other not in told.out
    assert told.out.endswith("1 run would be canceled; nothing was done: add --yes\n")
    done = await _act(bench, env, "cancel", "--definition", "asking", "--status", "waiting", "--yes", "--json")
    assert [(row["run_id"], row["status"]) for row in json.loads(done.out)] == [(first, "applied"), (second, "applied")]
    assert {(await bench.run(one))["status"] for one in (first, second)} == {"canceled"}
    acts = await bench.rows("SELECT payload ->> 'run_id' AS run_id FROM notifications WHERE kind = 'cancel'")
    assert {row["run_id"] for row in acts} == {first, second}


async def test_moments_narrow_what_is_canceled(bench: Bench, env: dict[str, str]) -> None:
    early = (await bench.start("undo.asking", {}, ref="early")).run_id
    bench.clock.move(days=2)
    late = (await bench.start("undo.asking", {}, ref="late")).run_id

    async def listed(*words: str) -> list[str]:
        found = await command("cancel", "--definition", "asking", *words, *BY, "--json", env=env)
        return [row["run_id"] for row in json.loads(found.out)]

    assert await listed("--started-before", "2026-01-06") == [early]
    assert await listed("--started-after", "2026-01-06T00:00:00+0000") == [late]


async def test_whoever_cancels_names_a_run_or_what_the_runs_have_in_common(env: dict[str, str]) -> None:
    for words, said in (
        ((), "name a RUN, or all of a --reference or a --definition"),
        (("run_0", "--definition", "asking"), "RUN takes no filter"),
    ):
        finished = await command("cancel", *words, *BY, env=env)
        assert finished.code == 2
        assert said in " ".join(finished.err.replace("│", " ").split())


async def test_a_run_that_is_not_there_cannot_be_undone(bench: Bench, env: dict[str, str]) -> None:
    assert is_one_sentence(await command("undo", "run_0", *BY, env=env), "there is no run run_0")
    assert is_one_sentence(await _act(bench, env, "undo", "run_0", "--yes"), "nothing was done: there is no run run_0")
