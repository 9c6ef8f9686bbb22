"""The clock of a request stands still while a question to whoever asked is open, where policy says so."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from psycopg.errors import RaiseException

from bot.views.card import card
from runtime.model.votes import CardAct
from runtime.worker.sweeps import fire_deadlines
from tests.bench import Bench
from tests.integration.answers_stage import say
from tests.integration.conftest import Targets
from tests.integration.glass_stage import filing
from tests.integration.pausing_stage import ask, pausing_bench, reply

END = datetime(2026, 1, 5, 17, 0, tzinfo=UTC)
"""When a request of nine o'clock expires by itself."""


@pytest.fixture
async def bench(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    async with pausing_bench(dsn, targets, tmp_path) as found:
        yield found


async def _until(bench: Bench) -> datetime:
    """Return the deadline, which the request, its wait and its card agree about."""
    (row,) = await bench.rows(
        "SELECT a.approval_id, coalesce(a.prolonged_until, a.expires_at) AS until, w.deadline"
        " FROM approvals a JOIN waits w USING (approval_id)"
    )
    view = await bench.desk.approval(row["approval_id"])
    assert view
    assert row["until"] == row["deadline"] == view.expires_at
    return row["until"]  # type: ignore[no-any-return]


async def _status(bench: Bench) -> str:
    (row,) = await bench.rows("SELECT status FROM approvals")
    return str(row["status"])


async def test_the_deadline_moves_by_the_time_in_which_a_question_was_open(bench: Bench) -> None:
    _, approval = await filing(bench)
    bench.clock.move(hours=1)
    question = await ask(bench, "ann", approval)
    assert await _until(bench) == END + timedelta(hours=2)
    bench.clock.move(minutes=30)
    await reply(bench, approval, question)
    assert await _until(bench) == END + timedelta(minutes=30)
    bench.clock.move(minutes=10)
    await ask(bench, "ben", approval)
    assert await _until(bench) == END + timedelta(hours=2), "the bound is for all of them together"


async def test_several_open_questions_count_once(bench: Bench) -> None:
    _, approval = await filing(bench)
    first = await ask(bench, "ann", approval)
    bench.clock.move(minutes=20)
    second = await ask(bench, "ben", approval)
    bench.clock.move(minutes=20)
    await reply(bench, approval, first)
    assert await _until(bench) == END + timedelta(hours=2)
    bench.clock.move(minutes=20)
    await reply(bench, approval, second)
    assert await _until(bench) == END + timedelta(hours=1)


async def test_it_expires_at_the_bound_and_the_rest_and_not_before(bench: Bench) -> None:
    _, approval = await filing(bench)
    bench.clock.move(hours=7, minutes=59)
    await ask(bench, "ann", approval)
    await bench.later(hours=2)
    assert await _status(bench) == "requested"
    await bench.later(minutes=1)
    assert await _status(bench) == "expired"


async def test_an_answer_after_the_bound_moves_nothing(bench: Bench) -> None:
    _, approval = await filing(bench)
    question = await ask(bench, "ann", approval)
    bench.clock.move(hours=5)
    await reply(bench, approval, question)
    assert await _until(bench) == END + timedelta(hours=2)


async def test_a_deadline_that_was_on_its_way_when_a_question_came_does_not_end_it(bench: Bench) -> None:
    _, approval = await filing(bench)
    bench.clock.move(hours=7)
    (wait,) = await bench.rows("SELECT turn FROM waits")
    await ask(bench, "ann", approval)
    (later,) = await bench.rows("SELECT turn FROM waits")
    assert later["turn"] > wait["turn"], "a signal is for one turn"
    bench.clock.move(hours=1, minutes=30)
    await fire_deadlines(bench.engine)
    await bench.settle()
    assert await _status(bench) == "requested"


async def test_those_next_in_line_and_reminders_come_later_too(bench: Bench) -> None:
    _, approval = await filing(bench)
    before = await bench.rows("SELECT escalate_at FROM waits")
    question = await ask(bench, "ann", approval)
    bench.clock.move(minutes=45)
    await reply(bench, approval, question)
    (after,) = await bench.rows("SELECT escalate_at FROM waits")
    assert after["escalate_at"] - before[0]["escalate_at"] == timedelta(minutes=45)


async def test_a_vote_counts_while_the_clock_stands_still_and_in_the_time_that_is_won(
    bench: Bench, targets: Targets
) -> None:
    _, approval = await filing(bench)
    bench.clock.move(hours=7)
    question = await ask(bench, "ann", approval)
    bench.clock.move(minutes=90)
    assert (await bench.click("ben", approval)).counted
    await reply(bench, approval, question)
    bench.clock.move(minutes=30)
    assert (await bench.click("ann", approval)).counted
    await bench.settle()
    assert len(targets.file.calls) == 1


async def test_the_card_says_that_the_clock_stands_still_and_until_when(bench: Bench) -> None:
    _, approval = await filing(bench)
    question = await ask(bench, "ann", approval)
    view = await bench.desk.approval(approval)
    assert view
    assert view.paused_until == datetime(2026, 1, 5, 11, 0, tzinfo=UTC)
    assert "Clock paused while Rita answers (until" in str(card(view, now=bench.clock()).json())
    bench.clock.move(hours=3)
    over = await bench.desk.approval(approval)
    assert over
    assert over.paused_until is None
    await reply(bench, approval, question)


@pytest.mark.parametrize("to", ["now() + interval '1 year'", "expires_at - interval '1 second'", "NULL"])
async def test_the_database_moves_no_deadline_beyond_the_bound_or_before_the_first(bench: Bench, to: str) -> None:
    _, approval = await filing(bench)
    await ask(bench, "ann", approval)
    with pytest.raises(RaiseException, match="written once"):
        await bench.rows(f"UPDATE approvals SET prolonged_until = {to} RETURNING 1")


async def test_a_refused_question_moves_nothing(bench: Bench) -> None:
    _, approval = await filing(bench)
    assert not (await say(bench, "rita", approval, CardAct.ASK, "why me?")).counted
    assert await _until(bench) == END
