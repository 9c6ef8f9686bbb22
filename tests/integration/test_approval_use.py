"""The database lets an approval be ended once, and used once while it is approved and before it expires."""

from datetime import timedelta

import pytest

from runtime.model.states import ApprovalStatus
from runtime.store import approvals
from tests.bench import Bench

FILE = {"company": "ACME", "text": "report"}


async def approved(bench: Bench) -> str:
    """Have a filing signed, and return its approval, which no worker has used yet."""
    await bench.start("bench.file", FILE)
    await bench.settle()
    approval_id = await bench.approval_id()
    for person in ("ann", "ben"):
        await bench.click(person, approval_id)
    return await bench.approval_id(status="approved")


async def use(bench: Bench, approval_id: str, *, left: timedelta) -> bool:
    """Use an approval up at a moment at which so much time is left."""
    now = bench.clock()
    async with bench.engine.pool.connection() as conn, conn.transaction():
        return await approvals.consume(conn, approval_id, now, now + left)


async def test_an_approval_is_used_once(bench: Bench) -> None:
    approval_id = await approved(bench)
    assert await use(bench, approval_id, left=timedelta(seconds=1))
    assert not await use(bench, approval_id, left=timedelta(seconds=1))


@pytest.mark.parametrize("left", [timedelta(0), timedelta(seconds=-1)])
async def test_an_approval_that_has_expired_is_not_used(bench: Bench, left: timedelta) -> None:
    approval_id = await approved(bench)
    assert not await use(bench, approval_id, left=left)
    (row,) = await bench.rows("SELECT consumed_at FROM approvals WHERE approval_id = %s", approval_id)
    assert row["consumed_at"] is None


async def test_a_request_that_is_still_open_is_not_used(bench: Bench) -> None:
    await bench.start("bench.file", FILE)
    await bench.settle()
    assert not await use(bench, await bench.approval_id(), left=timedelta(hours=1))


async def test_an_approval_that_has_ended_is_not_ended_again(bench: Bench) -> None:
    approval_id = await approved(bench)
    with pytest.raises(approvals.ApprovalEndedError):
        async with bench.engine.pool.connection() as conn, conn.transaction():
            await approvals.close_approval(conn, approval_id, ApprovalStatus.REJECTED, bench.clock())
    (row,) = await bench.rows("SELECT status FROM approvals WHERE approval_id = %s", approval_id)
    assert row["status"] == ApprovalStatus.APPROVED
