"""The console is killed in the middle of an act: it is done once or not at all, and the same form says which."""

import asyncio
import signal

import pytest

from countersign.embedded.opa import OpaChild
from runtime.failpoints import Point
from runtime.services.clicks import ClickOutcome
from tests.bench import Bench
from tests.faults.dying import answer, cancel
from tests.faults.killed import ended
from tests.integration.console_words import cancel_in_console, officer, say_in_console
from tests.integration.evidence_stage import FILE
from tests.patience import until

KEY = "k" * 32
VOTES = "SELECT person FROM votes"
COUNTED = "SELECT 1 AS one FROM audit_leaves WHERE leaf ->> 'event' = 'vote.counted'"


@pytest.mark.parametrize(
    ("point", "is_recorded"),
    [
        (Point.NOTIFICATION_RECORDING, False),
        (Point.NOTIFICATION_RECORDED, True),
        (Point.NOTIFICATION_APPLYING, True),
        (Point.NOTIFICATION_APPLIED, True),
    ],
)
async def test_a_vote_counts_once_wherever_the_console_is_killed(
    bench: Bench, dsn: str, opa: OpaChild, point: Point, *, is_recorded: bool
) -> None:
    await bench.start("bench.file", FILE, "case 7")
    await bench.settle()
    approval = await bench.approval_id()
    assert await ended(answer, dsn, opa.url, approval, KEY, str(point)) == -signal.SIGKILL
    recorded = await bench.rows("SELECT 1 AS one FROM notifications WHERE kind = 'vote'")
    assert len(recorded) == int(is_recorded)
    for _ in range(2):
        found = await say_in_console(bench, officer("ann"), approval, key=KEY)
        assert isinstance(found, ClickOutcome)
        assert found.counted
    await bench.later(minutes=1)
    assert await bench.rows(VOTES) == [{"person": "ann"}]
    assert len(await bench.rows(COUNTED)) == 1


@pytest.mark.parametrize("point", [Point.NOTIFICATION_RECORDING, Point.NOTIFICATION_RECORDED])
async def test_an_act_on_many_goes_on_where_the_console_was_killed(
    bench: Bench, dsn: str, opa: OpaChild, point: Point
) -> None:
    runs = [(await bench.start("bench.file", FILE, str(number))).run_id for number in range(6)]
    await bench.settle()
    assert await ended(cancel, dsn, opa.url, " ".join(runs), KEY, str(point), "3") == -signal.SIGKILL
    sent = asyncio.ensure_future(cancel_in_console(bench, runs, KEY))

    async def has_come() -> bool:
        await bench.settle()
        return sent.done()

    await until(has_come)
    assert [(one.subject, one.is_done) for one in await sent] == [(run, True) for run in runs]
    told = await bench.rows("SELECT 1 AS one FROM audit_leaves WHERE leaf ->> 'event' = 'run.cancel_requested'")
    assert len(told) == len(runs)
    asked = await bench.rows("SELECT 1 AS one FROM tenant_leaves WHERE leaf ->> 'event' = 'acts.asked'")
    assert len(asked) == 1
