"""Execution windows, and the paused clock of a request.

What policy allows at certain times alone waits for them as a row, and never begins at another.

The clock of a request stands still while a question to whoever asked is open, where policy says so.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg.errors import RaiseException

from bot.views.card import card
from bot.views.command_replies import run_reply
from runtime.handlers import Call, JsonObject, TransientError
from runtime.inbox import inbox
from runtime.model.person import Person
from runtime.model.votes import CardAct
from runtime.services.operator import OperatorService
from runtime.services.requests import RequestService
from runtime.sweeps import fire_deadlines
from tests.bench import TENANT, Bench, open_bench, with_handlers
from tests.integration.acts_stage import say
from tests.integration.conftest import PACK, Targets
from tests.integration.policies_stage import (
    NOTE,
    OPENS,
    TUESDAYS,
    approve_filing,
    ask,
    break_glass,
    filing,
    pausing_bench,
    reply,
    windows_bench,
    windows_policy,
)


@pytest.fixture
async def tuesdays(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    async with windows_bench(dsn, targets, tmp_path) as found:
        yield found


async def _effect(bench: Bench, run_id: str) -> dict[str, Any]:
    (effect,) = await bench.rows("SELECT * FROM effects WHERE run_id = %s AND purpose = 'step'", run_id)
    return effect


async def _told(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    return [dict(leaf.data) for leaf in await bench.chain(run_id) if leaf.event == "effect.waiting"]


async def _events(bench: Bench, run_id: str) -> set[str]:
    return {leaf.event for leaf in await bench.chain(run_id)}


async def test_what_is_approved_waits_for_its_window_and_is_then_carried_out_once(
    tuesdays: Bench, targets: Targets
) -> None:
    run_id = await approve_filing(tuesdays)
    effect = await _effect(tuesdays, run_id)
    assert (effect["status"], effect["next_try_at"].isoformat()) == ("pending", "2026-01-06T08:00:00+00:00")
    (told,) = await _told(tuesdays, run_id)
    assert told["opens_at"] == OPENS
    assert told["until"] == "2026-01-08T09:00:00.000000Z"
    await tuesdays.later(hours=22, minutes=59)
    assert not targets.file.calls
    await tuesdays.later(minutes=1)
    assert len(targets.file.calls) == 1
    assert (await tuesdays.run(run_id))["status"] == "succeeded"


async def test_who_asks_for_the_run_reads_until_when_it_waits_for_its_window(tuesdays: Bench) -> None:
    run_id = await approve_filing(tuesdays)
    front = RequestService(tuesdays.engine, TENANT, tuesdays.catalog)
    view = await front.run(Person("rita", "Rita", ()), run_id)
    assert view is not None
    (step,) = view.steps
    assert (step.status, step.error) == ("ready", f"waits for its window until {OPENS}")
    assert "waits for its window" in str(run_reply(view).blocks)


async def test_what_needs_nobody_waits_for_its_window_as_well(tuesdays: Bench, targets: Targets) -> None:
    run_id = (await tuesdays.start("bench.note", NOTE)).run_id
    await tuesdays.settle()
    assert not targets.note.calls
    assert (await _told(tuesdays, run_id))[0]["since"] == "2026-01-05T09:00:00.000000Z"
    await tuesdays.later(days=1)
    assert len(targets.note.calls) == 1


async def test_an_approval_counts_until_the_end_of_its_time_and_not_of_that_to_vote(
    tuesdays: Bench, targets: Targets
) -> None:
    run_id = await approve_filing(tuesdays)
    await tuesdays.later(days=1)  # there were eight hours to vote
    assert len(targets.file.calls) == 1
    assert "approval.voided" not in await _events(tuesdays, run_id)


async def test_a_stall_until_after_the_window_lets_nothing_begin_outside_of_it(
    tuesdays: Bench, targets: Targets
) -> None:
    run_id = await approve_filing(tuesdays)
    await tuesdays.later(days=1, hours=8)  # Tuesday evening
    assert not targets.file.calls
    run = await tuesdays.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "its window next opens 2026-01-13T08:00:00.000000Z" in run["error"]


async def test_what_begins_late_within_its_time_waits_for_the_next_window(
    dsn: str, targets: Targets, tmp_path: Path
) -> None:
    async with windows_bench(dsn, targets, tmp_path, {**TUESDAYS, "within": "P10D"}) as bench:
        run_id = await approve_filing(bench)
        await bench.later(days=1, hours=8)
        assert [told["opens_at"][:10] for told in await _told(bench, run_id)] == ["2026-01-06", "2026-01-13"]
        assert not targets.file.calls
        await bench.later(days=6, hours=16)
        assert len(targets.file.calls) == 1
        assert (await bench.run(run_id))["status"] == "succeeded"


async def test_what_opens_after_its_time_fails_at_once(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with windows_bench(dsn, targets, tmp_path, {**TUESDAYS, "within": "PT1H"}) as bench:
        run_id = await approve_filing(bench)
        steps = await bench.rows("SELECT status, error_code FROM steps WHERE run_id = %s", run_id)
        assert {"status": "failed_terminal", "error_code": "expired"} in steps
        assert not targets.file.calls
        assert not await _told(bench, run_id)


async def test_an_approval_is_void_at_the_end_of_its_time(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with windows_bench(dsn, targets, tmp_path, {"not_before": OPENS[:19] + "Z", "within": "P2D"}) as bench:
        run_id = await approve_filing(bench)
        await bench.later(days=3)
        assert not targets.file.calls
        assert "approval.voided" in await _events(bench, run_id)


async def test_a_window_that_policy_moved_meanwhile_holds(dsn: str, targets: Targets, tmp_path: Path) -> None:
    moved = {**TUESDAYS, "between": [{"days": ["wed"], "from": "09:00", "until": "17:00"}]}
    async with windows_bench(dsn, targets, tmp_path / "first") as bench:
        run_id = await approve_filing(bench)
    async with windows_bench(dsn, targets, tmp_path / "moved", moved) as bench:
        await bench.later(days=1)
        assert not targets.file.calls
        assert (await _told(bench, run_id))[-1]["opens_at"] == "2026-01-07T08:00:00.000000Z"
        await bench.later(days=1)
        assert len(targets.file.calls) == 1


async def test_what_waits_can_be_canceled_and_its_card_says_so(tuesdays: Bench, targets: Targets) -> None:
    run_id = await approve_filing(tuesdays)
    said = await OperatorService(tuesdays.engine.pool, tuesdays.engine.clock, TENANT).cancel(
        "omar", run_id, "not wanted", None
    )
    assert (await inbox.apply(tuesdays.engine, said))["status"] == "applied"
    await tuesdays.settle()
    await tuesdays.later(days=1)
    assert not targets.file.calls
    (approval,) = await tuesdays.rows("SELECT result FROM approvals WHERE run_id = %s", run_id)
    assert approval["result"]["code"] == "not_performed"


async def test_a_new_process_carries_out_what_waited_once(dsn: str, targets: Targets, tmp_path: Path) -> None:
    async with windows_policy(tmp_path, TUESDAYS) as policy:
        async with open_bench(dsn, policy, [PACK], targets.handlers()) as first:
            run_id = await approve_filing(first)
        async with open_bench(dsn, policy, [PACK], targets.handlers()) as second:
            await second.later(hours=22)
            assert not targets.file.calls
            await second.later(hours=1)
            assert (await second.run(run_id))["status"] == "succeeded"
    assert len(targets.file.calls) == 1


async def test_glass_that_was_broken_opens_no_window(tuesdays: Bench, targets: Targets) -> None:
    _, approval = await filing(tuesdays)
    assert (await break_glass(tuesdays, "ivy", approval)).counted
    await tuesdays.settle()
    assert not targets.file.calls
    await tuesdays.later(days=1)
    assert len(targets.file.calls) == 1


async def test_the_card_and_the_run_say_from_when_on_it_is_carried_out(tuesdays: Bench) -> None:
    run_id = await approve_filing(tuesdays)
    ((shown,),) = [list(row.values()) for row in await tuesdays.rows("SELECT result FROM approvals")]
    assert shown == {"code": "window", "about": [OPENS]}
    assert (await _effect(tuesdays, run_id))["error"] == f"waits for its window until {OPENS}"
    said = [call["text"] for call in tuesdays.chat.said("post_message")]
    assert "Approved; carried out from 2026-01-06 08:00 UTC on." in said


async def test_a_failed_call_is_tried_again_in_a_window_alone(tuesdays: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("busy", retry_after=60 * 60)] * 2
    await tuesdays.start("bench.note", NOTE)
    await tuesdays.settle()
    await tuesdays.later(days=1, hours=6, minutes=59)
    assert len(targets.note.calls) == 1
    for _ in range(30):
        await tuesdays.later(minutes=30)
    assert len(targets.note.calls) == 1


async def test_what_is_held_up_until_its_window_shuts_does_not_begin(
    dsn: str, targets: Targets, tmp_path: Path
) -> None:
    async with windows_bench(dsn, targets, tmp_path, {**TUESDAYS, "within": "P10D"}) as bench:

        async def slow(call: Call) -> JsonObject:
            bench.clock.move(minutes=2)
            return {}

        looking = {**targets.handlers(), "register::file_report": targets.file.handler(before=slow)}
        late = with_handlers(bench, looking)
        run_id = await approve_filing(late)
        shuts = datetime(2026, 1, 6, 16, 0, tzinfo=UTC)
        bench.clock.now = shuts - timedelta(minutes=1)
        await late.settle()
        assert bench.clock() > shuts
        assert [told["opens_at"][:10] for told in await _told(bench, run_id)] == ["2026-01-06", "2026-01-13"]
        assert not targets.file.calls


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
