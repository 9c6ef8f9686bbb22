"""The shared clock: whatever a machine's own says, it tells the database's time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.clock import SharedClock, utc_now
from runtime.store.database.health import set_right
from runtime.store.database.pool import make_pool

TRUE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@given(st.timedeltas(-timedelta(days=1), timedelta(days=1)), st.timedeltas(timedelta(0), timedelta(seconds=2)))
def test_the_error_left_is_half_the_round_trip_at_most(skew: timedelta, trip: timedelta) -> None:
    clock = SharedClock(lambda: TRUE + trip + skew)
    clock.correct(TRUE + skew, TRUE + trip / 3, TRUE + trip + skew)
    assert abs(clock() - (TRUE + trip)) <= trip / 2


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_machine_whose_clock_is_wrong_tells_the_databases_time(dsn: str, minutes: int) -> None:
    clock = SharedClock(lambda: utc_now() + timedelta(minutes=minutes))
    async with make_pool(dsn, size=1) as pool, pool.connection() as conn:
        await set_right(conn, clock)
    assert abs(clock() - utc_now()) < timedelta(seconds=5)
