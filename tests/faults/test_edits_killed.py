"""An edit, and the plug pulled at any point: the old version is open or the new one, and one is performed, once."""

import asyncio
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from runtime.failpoints import Point
from runtime.model.person import SlackAccount
from runtime.services.editing import EditWish
from tests.bench import TEAM, Bench
from tests.faults import dying
from tests.faults.killed import killed
from tests.integration.conftest import Targets, editing
from tests.integration.editing_stage import asked, edit, request_of

__all__ = ["editing"]

POINTS = (
    Point.NOTIFICATION_APPLYING,
    Point.NOTIFICATION_APPLIED,
    Point.EFFECT_LEASED,
    Point.POLICY_ASKING,
    Point.POLICY_ANSWERED,
    Point.EFFECT_DEFERRING,
    Point.EFFECT_DEFERRED,
)


async def _recorded(bench: Bench, approval_id: str) -> str:
    view = await bench.desk.approval(approval_id)
    assert view
    account = SlackAccount(TEAM, "UANN")
    wish = EditWish("k", approval_id, view.stamp, {"copies": 3}, "too many", account, "ann", None, "req-edit")
    return await bench.desk.editing.record(wish)


async def _killed(bench: Bench, opa: OpaChild, notification_id: str, point: Point) -> None:
    await killed(dying.apply, bench.superuser, opa.url, notification_id, str(point), "1")


async def _versions(bench: Bench) -> list[dict[str, Any]]:
    """Return what can be decided, beside the digest of the effect as it is."""
    return await bench.rows(
        "SELECT a.approval_id, a.digest, e.digest AS now FROM approvals a JOIN effects e USING (effect_id)"
        " WHERE a.status = 'requested'"
    )


@pytest.mark.parametrize("point", POINTS)
async def test_a_process_killed_while_it_edits_leaves_one_version_to_decide(
    editing: Bench, targets: Targets, opa: OpaChild, point: Point
) -> None:
    first = await asked(editing)
    assert (await editing.click("ben", first)).counted
    await _killed(editing, opa, await _recorded(editing, first), point)
    open_now = await _versions(editing)
    assert len(open_now) <= 1
    assert all(row["digest"] == row["now"] for row in open_now)
    assert (first in [row["approval_id"] for row in open_now]) == (point is Point.NOTIFICATION_APPLYING)
    for _ in range(2):  # the lease runs out, and what was on its way is tried again
        await editing.later(minutes=5)
    (left,) = await _versions(editing)
    assert left["approval_id"] != first
    assert not (await editing.click("cat", first)).counted
    for person in ("ben", "cat"):
        assert (await editing.click(person, left["approval_id"])).counted
    await editing.settle()
    assert [call.params["copies"] for call in targets.file.calls] == [3]
    assert len(await editing.rows("SELECT 1 FROM edits")) == 1
    done = await editing.rows(
        "SELECT fingerprint FROM receipts WHERE outcome = 'success' AND document ->> 'step' = 'file'"
    )
    assert [row["fingerprint"] for row in done] == [left["digest"]]


async def test_an_edit_and_the_last_signature_at_the_same_moment_have_one_outcome(
    editing: Bench, targets: Targets
) -> None:
    for number in range(6):
        first = await asked(editing, f"race-{number}")
        (row,) = await editing.rows("SELECT run_id FROM approvals WHERE approval_id = %s", first)
        assert (await editing.click("ben", first)).counted
        signed, edited = await asyncio.gather(
            editing.click("cat", first), edit(editing, "ann", first, {"copies": 3}, dedupe_key=f"race-{number}")
        )
        assert signed.counted != (edited is None)
        await editing.settle()
        performed = [call.params["copies"] for call in targets.file.calls if call.run_id == row["run_id"]]
        assert performed == ([10] if signed.counted else [])
        if edited is None:
            assert await request_of(editing, row["run_id"]) != first
