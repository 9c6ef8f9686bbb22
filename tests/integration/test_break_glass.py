"""In an emergency one person does without the others: named by policy, bounded, told at once, and reviewed after."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import cast
from zipfile import ZipFile

import pytest
from psycopg import AsyncConnection

from countersign.cli.audit import vote_row
from countersign.cli.run_view import show_run
from countersign.doctor.unsealed import why
from evidence.verify.verify import verify
from receipts.signing import public_path
from runtime.inbox.break_glass import tell_of_late_reviews
from runtime.model.search import EvidenceState, Sought
from runtime.services.bundles import find_votes
from runtime.services.clicks import ClickOutcome
from runtime.services.listings import find_run
from runtime.store.break_glass import lock_break_glass_count
from runtime.store.bundle_search import find_runs
from runtime.store.database.pool import Conn
from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.integration.glass_stage import AT_MOST, break_glass, filing, glass_bench, record_break
from tests.integration.sealing_stage import open_office
from tests.patience import until


@pytest.fixture
async def bench(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    async with glass_bench(dsn, targets, tmp_path) as found:
        yield found


async def code_of(bench: Bench, person: str, approval: str, reason: str = "the bank is down") -> str | None:
    refusal = (await break_glass(bench, person, approval, reason)).refusal
    return None if refusal is None else str(refusal.code)


async def test_one_person_whom_policy_names_does_without_the_others_and_it_is_done_once(
    bench: Bench, targets: Targets
) -> None:
    run_id, approval = await filing(bench)
    assert (await break_glass(bench, "ivy", approval)).counted
    await bench.settle()
    assert len(targets.file.calls) == 1
    assert (await bench.run(run_id))["status"] == "succeeded"
    (vote,) = await bench.rows("SELECT person, break_glass FROM votes")
    assert vote == {"person": "ivy", "break_glass": {"ticket": "INC-7", "nth": 1}}


async def test_nobody_else_does(bench: Bench, targets: Targets) -> None:
    _, approval = await filing(bench)
    assert await code_of(bench, "ann", approval) == "vote.not_in_group", "she signs, and is not named for this"
    assert await code_of(bench, "rita", approval) == "vote.requester", "though her group is named"
    assert await code_of(bench, "ivy", approval, " ") == "vote.reason_missing"
    await bench.settle()
    assert targets.file.calls == []
    refused = [leaf.event for leaf in await bench.chain((await bench.rows("SELECT run_id FROM runs"))[0]["run_id"])]
    assert refused.count("vote.refused") == 3


async def test_without_a_glass_in_the_requirement_nothing_is_broken(bench: Bench) -> None:
    await bench.start("bench.review", {"case": "C1"})
    await bench.settle()
    assert await code_of(bench, "ivy", await bench.approval_id("task")) == "break_glass.none"


async def test_a_card_that_has_changed_is_looked_at_first(bench: Bench) -> None:
    _, approval = await filing(bench)
    refusal = (await break_glass(bench, "ivy", approval, stamp="0" * 16)).refusal
    assert refusal is not None
    assert refusal.code == "vote.stale"


async def test_nobody_does_so_more_often_than_policy_lets_them_and_may_again_later(bench: Bench) -> None:
    for number in range(AT_MOST):
        assert await code_of(bench, "ivy", (await filing(bench, str(number)))[1]) is None
    _, third = await filing(bench, "third")
    assert await code_of(bench, "ivy", third) == "break_glass.spent"
    bench.clock.move(hours=25)
    _, later = await filing(bench, "later")
    assert await code_of(bench, "ivy", later) is None


async def test_two_at_once_do_not_pass_the_bound_together(bench: Bench) -> None:
    assert await code_of(bench, "ivy", (await filing(bench, "first"))[1]) is None
    asked = [(await filing(bench, ref))[1] for ref in ("a", "b", "c")]
    recorded = [await record_break(bench, "ivy", one, "the bank is down", "INC-8", "") for one in asked]
    outcomes = await asyncio.gather(*map(bench.desk.apply, recorded))
    assert sorted(outcome.counted for outcome in outcomes) == [False, False, True]


async def test_who_breaks_it_in_two_processes_at_once_does_not_pass_the_bound(bench: Bench) -> None:
    assert await code_of(bench, "ivy", (await filing(bench, "first"))[1]) is None
    elsewhere, here = [(await filing(bench, ref))[1] for ref in ("a", "b")]
    other, own = [await record_break(bench, "ivy", one, "the bank is down", "INC-8", "") for one in (elsewhere, here)]
    async with await AsyncConnection.connect(bench.superuser) as conn, conn.transaction():
        await lock_break_glass_count(cast("Conn", conn), "acme", "ivy")
        said = json.dumps({"approval_id": elsewhere, "notification_id": other})
        await conn.execute("INSERT INTO votes SELECT (jsonb_populate_record(v, %s)).* FROM votes v", (said,))
        applying = asyncio.create_task(bench.desk.apply(own))
        await until(lambda: _waits_or_is_done(bench, applying))
    refusal = (await applying).refusal
    assert refusal is not None
    assert refusal.code == "break_glass.spent"


async def _waits_or_is_done(bench: Bench, task: asyncio.Task[ClickOutcome]) -> bool:
    waiting = await bench.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    return task.done() or bool(waiting)


async def test_who_watches_over_it_and_who_asked_are_told_at_once(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.settle()
    told = [call for call in bench.chat.said("direct_message") if "used break-glass" in call["text"]]
    assert {call["user"] for call in told} == {"USAM", "UPAM", "URITA"}
    assert all("INC-7" in call["text"] and "the bank is down" in call["text"] for call in told)


async def test_another_person_says_afterwards_whether_it_was_right(bench: Bench) -> None:
    run_id, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.settle()
    review = await bench.approval_id("afterwards")
    for person, code in (("ivy", "vote.excluded"), ("rita", "vote.requester"), ("ann", "vote.not_in_group")):
        refusal = (await bench.click(person, review)).refusal
        assert refusal is not None
        assert refusal.code == code
    await bench.later(days=400)
    assert (await bench.click("sue", review, "reject", "there was no emergency")).counted, "it is asked until answered"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded", "what was done stays done"


async def test_a_rejection_and_an_end_close_the_glass(bench: Bench) -> None:
    _, approval = await filing(bench)
    assert (await bench.click("ann", approval, "reject", "not like this")).counted
    assert await code_of(bench, "ivy", approval) == "vote.closed"


async def test_a_second_delivery_breaks_it_once(bench: Bench, targets: Targets) -> None:
    _, approval = await filing(bench)
    for _ in range(3):
        assert (await break_glass(bench, "ivy", approval)).counted
    await bench.settle()
    assert len(targets.file.calls) == 1
    assert len(await bench.rows("SELECT 1 FROM approvals WHERE kind = 'afterwards'")) == 1
    assert len([one for one in bench.chat.said("direct_message") if one["user"] == "USAM"]) == 1


async def test_nobody_does_without_a_ticket(bench: Bench) -> None:
    _, approval = await filing(bench)
    for ticket in (" ", "\t"):
        refusal = (await break_glass(bench, "ivy", approval, ticket=ticket)).refusal
        assert refusal is not None
        assert refusal.code == "break_glass.ticket"
    assert await bench.rows("SELECT 1 FROM votes") == []


async def test_a_review_is_not_sent_back(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    review = await bench.approval_id("afterwards")
    refusal = (await bench.click("sue", review, "changes", "another report")).refusal
    assert refusal is not None
    assert refusal.code == "vote.in_doubt"


def _late(bench: Bench) -> list[str]:
    return sorted(
        call["user"] for call in bench.chat.said("direct_message") if "Break-glass review overdue" in call["text"]
    )


async def test_a_review_that_is_late_is_told_of_once_each_time_and_can_still_be_given(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.later(days=2)
    assert _late(bench) == [], "there is time"
    await bench.later(days=1)
    once = ["UIVY", "UPAM", "USAM", "USUE"]
    assert _late(bench) == once
    await bench.later(hours=1)
    assert _late(bench) == once, "the next time that it has passed"
    await bench.later(days=3)
    assert _late(bench) == sorted(once * 2)
    assert (await bench.click("sue", await bench.approval_id("afterwards"), "reject", "no emergency")).counted
    await bench.later(days=3)
    assert _late(bench) == sorted(once * 2)


async def test_two_sweeps_tell_of_a_late_review_once(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    bench.clock.move(days=3)
    await asyncio.gather(*(tell_of_late_reviews(bench.engine) for _ in range(4)))
    await bench.settle()
    assert _late(bench) == ["UIVY", "UPAM", "USAM", "USUE"]


async def test_evidence_waits_for_the_review_and_holds(bench: Bench, dsn: str, tmp_path: Path) -> None:
    run_id, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    await bench.settle()
    office = open_office(bench, tmp_path, dsn)
    assert not await office.sealer()
    assert "by break-glass, and nobody has reviewed it yet" in (await office.listed())[run_id]
    async with bench.engine.pool.connection() as conn:
        (listed,) = await find_runs(conn, "acme", Sought(states=[EvidenceState.UNSEALED], limit=10))
    assert "by break-glass, and nobody has reviewed it yet" in why(listed)
    assert (await bench.click("sue", await bench.approval_id("afterwards"), "approve", "the bank was down")).counted
    await bench.settle()
    while await office.sealer():
        pass
    file = office.folder / f"{run_id}.zip"
    assert verify(file, public_path(office.settings.key_path)).run_id == run_id
    with ZipFile(file) as bundle:
        summary, timeline = (bundle.read(name).decode() for name in ("summary.md", "timeline.md"))
    assert "by break-glass" in summary
    assert "without the required signatures" in summary
    assert "using break-glass by" in timeline
    assert "found it justified" in timeline


async def test_an_operator_sees_who_broke_it_and_who_may_close_the_review_until_when(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    async with bench.engine.pool.connection() as conn:
        found = await find_run(conn, "acme", run_id)
    assert found
    (review,) = found["reviews"]
    assert (review["broken_by"], review["ticket"]) == ("Ivy", "INC-7")
    assert review["until"] - review["broken_at"] == timedelta(days=3)
    assert review["may_close"] == ["senior-compliance", "incident-managers"]
    assert "ivy" in review["but"]
    show_run(found)
    assert "open reviews of break-glass" in (said := capsys.readouterr().out)
    assert "senior-compliance, incident-managers" in said
    assert (await bench.click("sue", await bench.approval_id("afterwards"), "approve", "the bank was down")).counted
    async with bench.engine.pool.connection() as conn:
        closed = await find_run(conn, "acme", run_id)
    assert closed
    assert closed["reviews"] == []


async def test_the_table_of_votes_says_that_glass_was_broken_in_the_words_of_the_summary(bench: Bench) -> None:
    _, approval = await filing(bench)
    await break_glass(bench, "ivy", approval)
    since, until_ = bench.clock() - timedelta(days=1), bench.clock() + timedelta(days=1)
    async with bench.engine.pool.connection() as conn:
        (vote,) = map(vote_row, await find_votes(conn, "acme", since, until_, None))
    assert vote["decision"] == "approved by break-glass (INC-7)"
    assert vote["meaning"].endswith("without the required signatures")
