"""Every option by which a list is narrowed leaves out what it should, and only that.

Each list is asked for whole, and then narrowed to what one of its rows has: what is left are the rows of the whole list
that have it, too. It is neither none of them nor all.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.embedded.opa import OpaChild
from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.integration.program_stage import environment, settings_of

Row = dict[str, Any]

FILE = {"company": "ACME", "text": "report"}
REVIEW = {"case": "C1"}
YEAR = ("--since", "2026-01-01", "--until", "2026-12-31")
CANCEL = ("runs", "cancel", "--definition", "bench-file", "--as", "omar", "--reason", "x")

TASKS, VOTES, DEAD = ("tasks", "list"), ("evidence", "approvals", *YEAR), ("dead-letters", "list")
LISTS: dict[tuple[str, ...], str] = {
    ("runs", "list"): "created_at",
    ("waits", "list"): "created_at",
    ("effects", "list"): "created_at",
    ("steps", "list"): "updated_at",
    TASKS: "requested_at",
    ("evidence", "list"): "created_at",
    VOTES: "at",
    CANCEL: "created_at",
}
"""Commands that list what belongs to runs, each with what is a row's moment."""
OF_RUN = {
    "--reference": "reference",
    "--requester": "requested_by",
    "--trigger": "trigger_type",
    "--definition": "definition_name",
}
STATUSES = [("runs", "list"), ("waits", "list"), ("effects", "list"), DEAD, CANCEL]
"""Lists whose rows have several statuses."""
OF_ONE_RUN = [("waits", "list"), ("effects", "list"), TASKS]


@dataclass
class World:
    """Runs that differ in all by which lists are narrowed; two of them, too, that `CANCEL` is about."""

    runs: dict[str, Row]

    async def said(self, *words: str) -> Any:
        handlers = logging.root.handlers[:]
        ended = await asyncio.to_thread(CliRunner().invoke, app, [*words, "--json"])
        logging.root.handlers[:] = handlers  # those of the command write to what is closed
        assert ended.exit_code == 0, ended.output
        return json.loads(ended.stdout)

    async def rows(self, command: tuple[str, ...], *given: str) -> list[Row]:
        found = await self.said(*command, *given)
        return list(next(value for name, value in found.items() if name != "next"))

    async def compare(self, command: tuple[str, ...], *given: str, meant: Callable[[Row], bool]) -> None:
        """Compare what an option leaves of a list with what it is to leave."""
        whole = await self.rows(command)
        wanted = [row for row in whole if meant(row)]
        assert 0 < len(wanted) < len(whole), given
        assert await self.rows(command, *given) == wanted, given


@pytest.fixture
async def world(
    bench: Bench, targets: Targets, dsn: str, opa: OpaChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> World:
    for name, value in environment(settings_of(dsn, opa.url, tmp_path)).items():
        monkeypatch.setenv(name, value)
    for ref, type_, payload, by, trigger, definition in (
        ("review-1", "bench.review", REVIEW, "rita", "bench.review", "bench-review"),
        ("file-1", "bench.file", FILE, "rita", "bench.file", "bench-file"),
        ("review-2", "bench.review", REVIEW, "ann", "bench.note", "bench-note"),
        ("file-2", "bench.file", FILE, "cat", "bench.wait", "bench-wait"),
        ("file-3", "bench.file", FILE, "ann", "bench.kept", "bench-file"),
    ):
        run_id = (await bench.start(type_, payload, ref=ref, by=by)).run_id
        await bench.settle()
        if type_ == "bench.file":
            voter = "ann" if ref == "file-1" else "ben"
            assert (await bench.click(voter, await bench.approval_id())).counted
        await bench.complete(f"acme:await_answer:{ref}", {"answer": "yes"}, ref, token="wait_0.tok_0")
        await bench.meddle(
            "UPDATE runs SET trigger_type = %s, definition_name = %s WHERE run_id = %s", trigger, definition, run_id
        )
        bench.clock.move(days=1)
    await bench.meddle("UPDATE steps SET status = 'needs_attention'")
    await bench.meddle("UPDATE runs SET status = 'queued' WHERE trigger_ref = 'file-3'")
    await bench.meddle("UPDATE waits SET status = 'completed' WHERE wait_id = (SELECT min(wait_id) FROM waits)")
    await bench.meddle("UPDATE effects SET status = 'failed' WHERE effect_id = (SELECT min(effect_id) FROM effects)")
    await bench.meddle("UPDATE notifications SET status = 'early' WHERE correlation_key LIKE '%%review-1'")
    await bench.meddle(
        "UPDATE approvals SET expires_at = expires_at + interval '99 years'"
    )  # commands have their own clock
    world = World({})
    world.runs = {row["run_id"]: row for row in (await world.said("runs", "list"))["runs"]}
    return world


def _facts(world: World, row: Row) -> dict[str, str]:
    """Return what a row's run has: what to give each option to find it."""
    run = world.runs[row["run_id"]]
    return {option: run[name] for option, name in OF_RUN.items()} | {
        "--reference": run["reference"] or run["trigger_ref"]
    }


@pytest.mark.parametrize("command", LISTS, ids=" ".join)
async def test_lists_are_narrowed_by_what_their_runs_are(world: World, command: tuple[str, ...]) -> None:
    wanted = _facts(world, (await world.rows(command))[0])
    for option in ("--requester", "--trigger") if command == CANCEL else OF_RUN:
        value = wanted[option]
        await world.compare(command, option, value, meant=lambda row: _facts(world, row)[option] == value)  # noqa: B023


@pytest.mark.parametrize(("command", "at"), [*LISTS.items(), (DEAD, "received_at")])
async def test_lists_are_narrowed_by_the_moments_of_their_rows(world: World, command: tuple[str, ...], at: str) -> None:
    moments = sorted({row[at] for row in await world.rows(command)})
    middle = moments[len(moments) // 2]
    await world.compare(command, "--since", middle, meant=lambda row: row[at] >= middle)
    await world.compare(command, "--until", middle, meant=lambda row: row[at] < middle)


@pytest.mark.parametrize("command", STATUSES, ids=" ".join)
async def test_lists_are_narrowed_by_the_status_of_their_rows(world: World, command: tuple[str, ...]) -> None:
    for status in {row["status"] for row in await world.rows(command)}:
        await world.compare(command, "--status", status, meant=lambda row: row["status"] == status)  # noqa: B023


@pytest.mark.parametrize("command", OF_ONE_RUN, ids=" ".join)
async def test_lists_are_narrowed_to_one_run(world: World, command: tuple[str, ...]) -> None:
    run_id = (await world.rows(command))[0]["run_id"]
    await world.compare(command, "--run", run_id, meant=lambda row: row["run_id"] == run_id)


async def test_votes_are_narrowed_to_those_of_one_person(world: World) -> None:
    await world.compare(VOTES, "--person", "ann", meant=lambda row: row["person"] == "ann")


async def test_programs_get_the_groups_of_a_review_as_a_list(world: World) -> None:
    assert [row["groups"] for row in await world.rows(TASKS)] == [["compliance"]] * 2


async def test_reviews_go_on_behind_one_of_them(world: World) -> None:
    first, second = await world.rows(TASKS)
    await world.compare(TASKS, "--after", first["task_id"], meant=lambda row: row["task_id"] == second["task_id"])
