"""Shadows: a candidate is asked about each new decision, decides nothing, and what it would change is on record."""

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from pydantic import SecretStr

from countersign.candidate import Candidate, vetted, without_answers
from countersign.connection import connected
from countersign.embedded.opa import OpaChild
from countersign.foreseen_errors import OperateError
from countersign.no_network import NetworkError
from countersign.policy_shadow import ShadowRunner
from countersign.settings import Settings
from policy.backtest.judging import JudgedDecision
from policy.bundle import PolicyFolders
from runtime.clock import utc_now
from runtime.services import policy_shadows
from runtime.services.policy_shadows import PolicyShadows, ShadowEndedError, find_report
from runtime.services.sequencer import Sequencer
from tests.bench import TENANT, Bench
from tests.integration.policies_stage import filing
from tests.integration.program_stage import Program, command, environment, program, settings_of
from tests.opa_server import PACKS, copy_policies, edit_policy, opa_program
from tests.patience import MINUTE, until

LIMITS = "countersign/limits.rego"
CONFIG = "countersign_config/acme/data.json"
FEWER = ('"quorum": 2', '"quorum": 1')
LONG = 3 * MINUTE
"""For what takes many commands, each of them a process."""
ENDLESS = "count([1 | numbers.range(1, 100000)[_]; numbers.range(1, 100000)[_]]) > 0"


@pytest.fixture
def settings(dsn: str, opa: OpaChild, tmp_path: Path) -> Settings:
    return settings_of(dsn, opa.url, tmp_path)


@pytest.fixture
def env(settings: Settings) -> dict[str, str]:
    return {**environment(settings), "COUNTERSIGN_OPA": str(opa_program())}


@pytest.fixture
async def shadows(settings: Settings) -> AsyncIterator[PolicyShadows]:
    async with connected(settings) as conn:
        yield PolicyShadows(conn, TENANT, utc_now)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_policies(tmp_path / "rego")


async def candidate(folder: Path, seconds: int = 60) -> Candidate:
    return await vetted(opa_program(), PolicyFolders(folder, PACKS), seconds)


async def decide(bench: Bench, *companies: str) -> None:
    """Have policy decide about a filing for each company, and its leaves put into the log."""
    for company in companies:
        await filing(bench, company)
    while await Sequencer(bench.engine)():
        pass


async def ask(shadows: PolicyShadows, one: Candidate) -> policy_shadows.Window:
    """Let a shadow ask about all that is in the log."""
    window = await shadows.open(one.text.digest)
    while (found := await shadows.next(window)).end > window.next_place:
        window = await shadows.keep(window, found.end, one.judge(found.rows))
    return window


async def test_a_shadow_asks_about_each_new_decision_once_and_keeps_what_differs(
    bench: Bench, shadows: PolicyShadows, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_shadows, "PLACES", 7)  # so that a look ends in the middle of what was committed together
    await decide(bench, "BEFORE")
    edit_policy(folder, CONFIG, *FEWER)
    one = await candidate(folder)
    await ask(shadows, one)
    await decide(bench, "ONE", "TWO", "THREE")
    late = await find_report(shadows.conn, TENANT, None, 2)
    assert late is not None
    assert (late.behind > 6, late.window.counts) == (True, {})
    window = await ask(shadows, one)
    assert window.counts == {"fewer-signatures": 3, "unchanged": 3}
    assert (await ask(shadows, one)).counts == window.counts
    report = await find_report(shadows.conn, TENANT, None, 2)
    assert report is not None
    assert (report.behind, [one["kind"] for one in report.differences]) == (0, ["fewer-signatures"] * 2)
    assert report.differences[0]["differences"] == [["fewer-signatures", "requirement.quorum", 2, 1]]


async def test_a_changed_candidate_begins_a_new_window_and_the_old_one_stays_as_it_was(
    bench: Bench, shadows: PolicyShadows, folder: Path
) -> None:
    same = await candidate(folder)
    await ask(shadows, same)
    await decide(bench, "ONE")
    first = await ask(shadows, same)
    edit_policy(folder, CONFIG, *FEWER)
    second = await ask(shadows, await candidate(folder))
    assert (second.shadow_id != first.shadow_id, second.counts, second.first_place) == (True, {}, first.next_place)
    await decide(bench, "TWO")
    with pytest.raises(ShadowEndedError, match="a shadow of another candidate has begun"):
        await shadows.keep(first, first.next_place + 1, [])
    await ask(shadows, await candidate(folder))
    reports = [await find_report(shadows.conn, TENANT, one, 10) for one in (None, first.shadow_id)]
    told = [(one.window.counts, one.window.ended_at is None, len(one.others)) for one in reports if one]
    assert told == [({"fewer-signatures": 1, "unchanged": 1}, True, 1), ({"unchanged": 2}, False, 1)]
    for change in ("counts = '{}'", "ended_at = now()"):
        with pytest.raises(errors.RaiseException, match="is written once"):
            await shadows.conn.execute(f"UPDATE policy_shadows SET {change} WHERE shadow_id = %s", (first.shadow_id,))


async def test_two_processes_of_one_candidate_count_no_decision_twice(
    bench: Bench, shadows: PolicyShadows, folder: Path
) -> None:
    one = await candidate(folder)
    window = await shadows.open(one.text.digest)
    await decide(bench, "ONE")
    found = await shadows.next(window)
    judged = one.judge(found.rows)
    moved = await shadows.keep(window, found.end, judged)
    late = await shadows.keep(window, window.next_place + 1, [])  # of one that saw less of the log, and was slower
    assert (late, late.counts) == (moved, {"unchanged": 2})


async def test_of_a_class_so_many_differences_are_kept_and_the_others_counted(
    bench: Bench, shadows: PolicyShadows, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_shadows, "KEPT", 2)
    edit_policy(folder, CONFIG, *FEWER)
    one = await candidate(folder)
    await shadows.open(one.text.digest)
    await decide(bench, "ONE", "TWO", "THREE")
    window = await ask(shadows, one)
    [row] = await bench.rows("SELECT count(*) AS n FROM shadow_differences")
    assert (window.counts["fewer-signatures"], row["n"]) == (3, 2)


def hanging(folder: Path) -> None:
    """Have a policy never come to an answer about filings."""
    rule = f'permitted if {{\n\tinput.step == "file"\n\t{ENDLESS}\n}}'
    edit_policy(folder, LIMITS, "permitted if input.effect.reads", f"{rule}\n\npermitted if input.effect.reads")


async def test_a_candidate_that_hangs_has_no_answer_and_holds_up_no_run(
    bench: Bench, shadows: PolicyShadows, folder: Path
) -> None:
    hanging(folder)
    one = await candidate(folder, seconds=2)
    window = await shadows.open(one.text.digest)
    await decide(bench, "ONE")  # which ends, although the shadow will hang on it
    found = await shadows.next(window)
    with pytest.raises(OperateError, match="did not answer") as late:
        one.judge(found.rows)
    judged: Sequence[JudgedDecision] = without_answers(found.rows, str(late.value))
    window = await shadows.keep(window, found.end, judged)
    assert window.counts == {"no-answer": 2}


async def test_a_candidate_that_needs_too_much_memory_is_ended_and_has_no_answer(
    bench: Bench, shadows: PolicyShadows, folder: Path
) -> None:
    rule = 'permitted if {\n\tinput.step == "file"\n\tcount([text | some text in numbers.range(1, 1000000000)]) > 0\n}'
    edit_policy(folder, LIMITS, "permitted if input.effect.reads", f"{rule}\n\npermitted if input.effect.reads")
    one = await candidate(folder)
    window = await shadows.open(one.text.digest)
    await decide(bench, "ONE")
    found = await shadows.next(window)
    with pytest.raises(OperateError, match="it may have needed more memory than it has"):
        one.judge(found.rows)


def _let_run(pid: int) -> None:
    """Give a process that gives way to all others, and its children, the priority of others, where that is permitted.

    On a busy machine it would not even start within the time of a test.
    """
    with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            if os.sched_getscheduler(int(task.name)) == os.SCHED_IDLE:
                os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, int(task.name), 0)
            for child in (task / "children").read_text(encoding="ascii").split():
                _let_run(int(child))


async def test_a_shadow_goes_on_where_it_was_killed_and_is_shown(
    bench: Bench, env: dict[str, str], folder: Path
) -> None:
    async def shown(count: int, by: Program) -> bool:
        _let_run(by.process.pid)
        found = await command("policy", "shadow", "show", "--json", env=env)
        counts = {"unchanged": count, "fewer-signatures": count} if count else {}
        return found.code == 0 and json.loads(found.out)["counts"] == counts

    none = await command("policy", "shadow", "show", env=env)
    assert (none.code, "there is no shadow yet" in none.err) == (1, True)
    assert json.loads((await command("metrics", "--json", env=env)).out)["shadow"] is None
    edit_policy(folder, CONFIG, *FEWER)
    async with program("policy", "shadow", "run", "--candidate", str(folder), env=env) as beside:
        await until(lambda: os.sched_getscheduler(beside.process.pid) == os.SCHED_IDLE)
        await until(lambda: shown(0, beside), LONG)
        await decide(bench, "ONE")
        await until(lambda: shown(1, beside), LONG)
        beside.process.kill()
    async with program("policy", "shadow", "run", "--candidate", str(folder), env=env) as again:
        await decide(bench, "TWO")
        await until(lambda: shown(2, again), LONG)
    metrics = [await command("metrics", *words, env=env) for words in ((), ("--json",))]
    assert "fewer-signatures: 2" in metrics[0].out.splitlines()[-1]
    assert json.loads(metrics[1].out)["shadow"]["counts"] == {"unchanged": 2, "fewer-signatures": 2}
    unknown = await command("policy", "shadow", "show", "shd_0", env=env)
    assert (unknown.code, "there is no shadow shd_0" in unknown.err) == (1, True)
    text = (await command("policy", "shadow", "show", env=env)).out
    assert "4 decisions asked, 0 leaves of the audit log behind" in text
    assert "register::file_report  writes.high_tier  requirement.quorum: 2 → 1" in text


async def test_a_shadow_follows_its_folder_and_asks_nothing_that_is_not_fit(
    bench: Bench, settings: Settings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[policy_shadows.Window] = []
    runner = ShadowRunner(settings, opa_program(), PolicyFolders(folder, PACKS), told.append, pause=0.05)
    async with running(runner):
        await until(lambda: told)
        await decide(bench, "ONE")
        await until(lambda: told[-1].counts == {"unchanged": 2})
        edit_policy(folder, CONFIG, '"quorum": 2', '"quorum": 0')
        await until(lambda: "the changed candidate is invalid, the one before is asked" in caplog.text)
        await decide(bench, "TWO")
        await until(lambda: told[-1].counts == {"unchanged": 4})
        assert caplog.text.count("the changed candidate is invalid") == 1  # and it is not vetted over and over
        edit_policy(folder, CONFIG, '"quorum": 0', '"quorum": 1')
        await until(lambda: told[-1].counts == {})
        await decide(bench, "THREE")
        await until(lambda: told[-1].counts == {"unchanged": 1, "fewer-signatures": 1})
    assert len({one.shadow_id for one in told}) == 2


@asynccontextmanager
async def running(runner: ShadowRunner) -> AsyncIterator[asyncio.Task[None]]:
    """Run a shadow beside what the block does, however that ends."""
    task = asyncio.create_task(runner.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_shadow_gives_way_to_that_of_another_candidate(
    bench: Bench, settings: Settings, shadows: PolicyShadows, folder: Path
) -> None:
    begun = asyncio.Event()
    runner = ShadowRunner(settings, opa_program(), PolicyFolders(folder, PACKS), lambda _: begun.set(), pause=0.05)
    async with running(runner) as task, asyncio.timeout(MINUTE):
        await begun.wait()
        await shadows.open("f" * 64)
        await decide(bench, "ONE")
        with pytest.raises(OperateError, match="a shadow of another candidate has begun"):
            await task


async def test_a_shadow_reaches_nothing_but_the_database(bench: Bench, settings: Settings, folder: Path) -> None:
    runner = ShadowRunner(settings, opa_program(), PolicyFolders(folder, PACKS), lambda _: reach_out())
    with pytest.raises(NetworkError):
        await runner.run()


def reach_out() -> None:
    socket.create_connection(("127.0.0.1", 9))


async def test_a_shadow_waits_for_a_database_that_is_away(
    settings: Settings, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    away = settings.model_copy(update={"database_url": "postgresql://nobody@127.0.0.1:1/none"})
    async with running(ShadowRunner(away, opa_program(), PolicyFolders(folder, PACKS))):
        await until(lambda: "the shadow waits for the database" in caplog.text)


async def test_a_database_without_the_tables_is_said_and_not_waited_for(
    dsn: str, settings: Settings, folder: Path
) -> None:
    empty = SecretStr(re.sub(r"/test_\d+\?", "/postgres?", dsn))
    runner = ShadowRunner(
        settings.model_copy(update={"database_url": empty}), opa_program(), PolicyFolders(folder, PACKS)
    )
    with pytest.raises(psycopg.errors.UndefinedTable):
        await runner.run()


async def test_a_candidate_that_is_not_fit_to_be_served_begins_no_shadow(env: dict[str, str], folder: Path) -> None:
    edit_policy(folder, CONFIG, '"quorum": 2', '"quorum": 0')
    found = await command("policy", "shadow", "run", "--candidate", str(folder), env=env)
    assert (found.code, "requirements.high.quorum: Must be greater" in found.err) == (1, True)
