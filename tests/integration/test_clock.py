"""The shared clock: whatever a machine's own says, it tells the database's time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.signature import sign
from countersign.embedded.opa import OpaChild
from runtime.clock import SharedClock, since_boot, utc_now
from runtime.store.database.health import correct_clock
from runtime.store.database.pool import make_pool
from tests.integration.program_stage import SLACK_SECRET, Edge, composed, edge_of, settings_of

TRUE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@given(st.timedeltas(-timedelta(days=1), timedelta(days=1)), st.floats(0, 2), st.floats(0, 1))
def test_the_error_left_is_half_the_round_trip_at_most(skew: timedelta, trip: float, told: float) -> None:
    boot = iter([0.0, trip])
    clock = SharedClock(lambda: TRUE + skew, lambda: next(boot))
    clock.correct(0.0, TRUE + timedelta(seconds=trip * told), trip)
    assert abs(clock() - (TRUE + timedelta(seconds=trip))) <= timedelta(seconds=trip / 2, microseconds=1)


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_machine_whose_clock_is_wrong_tells_the_databases_time(dsn: str, minutes: int) -> None:
    clock = SharedClock(lambda: utc_now() + timedelta(minutes=minutes), since_boot)
    async with make_pool(dsn, size=1, behind_pooler=False) as pool, pool.connection() as conn:
        await correct_clock(conn, clock)
    assert abs(clock() - utc_now()) < timedelta(seconds=5)


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_wall_clock_that_is_set_by_minutes_changes_no_lease(minutes: int) -> None:
    wall, boot = [TRUE], [100.0]
    clock = SharedClock(lambda: wall[0], lambda: boot[0])
    wall[0] += timedelta(minutes=minutes)
    boot[0] += 7
    assert clock() == TRUE + timedelta(seconds=7)


async def test_slacks_five_minutes_are_told_by_the_databases_clock(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    body = b'{"type": "url_verification", "challenge": "c-1"}'

    async def answer(edge: Edge, at: datetime) -> int:
        stamp = str(int(at.timestamp()))
        signature = sign(SLACK_SECRET, stamp.encode(), body).decode()
        signed = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
        headers = {**signed, "Content-Type": "application/json"}
        async with edge.http.post(f"{edge.url}/slack/events", data=body, headers=headers) as response:
            return response.status

    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        clock = cast("SharedClock", system.engine.clock)
        database = utc_now() + timedelta(minutes=20)
        clock.correct(since_boot(), database, since_boot())
        assert (await answer(edge, database), await answer(edge, utc_now())) == (200, 401)
