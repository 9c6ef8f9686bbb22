"""An approval that somebody writes into the database, past every vote, lets nothing happen and calls a person."""

import pytest

from tests.bench import Bench
from tests.integration.conftest import Targets

FILE = {"company": "ACME", "text": "report"}
APPROVED = "UPDATE approvals SET status = 'approved', decided_at = requested_at WHERE approval_id = %s"
VOTED = """
    INSERT INTO votes (approval_id, person, person_name, groups, verdict, reason, team, account, notification_id, at,
                       via)
    SELECT a.approval_id, p, p, '["compliance"]', 'approve', '', 'T0ACME', p, 'ntf_' || p, a.requested_at, 'slack'
      FROM approvals a, unnest(ARRAY['ann', 'ben']) p WHERE a.approval_id = %s
"""
RELEASED = "UPDATE effects SET status = 'pending', next_try_at = created_at WHERE approval_id = %s"


async def _forge(bench: Bench, *changes: str) -> str:
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval_id = await bench.approval_id()
    for change in changes:
        await bench.meddle(change, approval_id)
    await bench.settle()
    return run_id


@pytest.mark.parametrize("changes", [(APPROVED, RELEASED), (APPROVED, VOTED, RELEASED)], ids=["status", "votes"])
async def test_a_forged_approval_holds_its_effect_with_a_reason_once_on_record(
    bench: Bench, targets: Targets, changes: tuple[str, ...]
) -> None:
    run_id = await _forge(bench, *changes)
    await bench.later(minutes=30)
    await bench.later(minutes=30)
    (effect,) = await bench.rows("SELECT status, error FROM effects WHERE run_id = %s AND step = 'file'", run_id)
    assert effect["status"] == "blocked"
    assert "no vote granted it" in effect["error"]
    leaves = await bench.rows("SELECT leaf FROM audit_leaves WHERE run_id = %s", run_id)
    (blocked,) = [row["leaf"] for row in leaves if row["leaf"]["event"] == "effect.blocked"]
    assert blocked["data"]["error"] == effect["error"]
    assert targets.file.calls == []


async def test_people_are_asked_again_once_the_time_of_a_forged_approval_is_over(
    bench: Bench, targets: Targets
) -> None:
    run_id = await _forge(bench, APPROVED, RELEASED)
    await bench.later(hours=25)
    assert (await bench.run(run_id))["status"] == "waiting_approval"
    asked = await bench.approval_id()
    assert await bench.rows("SELECT person FROM votes WHERE approval_id = %s", asked) == []
    assert targets.file.calls == []
