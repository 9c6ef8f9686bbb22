"""A request without enough eligible approvers is seen when it is asked: on record, by operators, on its card."""

from typing import Any

from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.logins import loading


async def _leave(bench: Bench, *people: str) -> None:
    """Take the Slack accounts of people away, so that they cannot be asked."""
    async with loading(bench.superuser) as conn:
        await conn.execute("DELETE FROM slack_accounts WHERE actor_id = ANY(%s)", (list(people),))


async def _asked(bench: Bench, by: str) -> tuple[str, list[dict[str, Any]]]:
    await bench.start("bench.file", {"company": "ACME", "text": "r"}, by=by)
    await bench.settle()
    leaves = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'approval.unfulfillable'")
    return await bench.approval_id(), [row["leaf"] for row in leaves]


def _told_operators(bench: Bench) -> list[str]:
    said = bench.chat.said("direct_message")
    return [one["text"] for one in said if one["user"] == "UOMAR" and "Not enough eligible approvers" in one["text"]]


async def test_an_approval_that_nobody_can_fulfil_is_on_record_told_and_shown(bench: Bench, targets: Targets) -> None:
    await _leave(bench, "ben", "cat", "sue")
    approval, leaves = await _asked(bench, by="rita")
    why = "it needs 2 distinct people, and 1 may decide"
    assert [leaf["data"] for leaf in leaves] == [{"approval_id": approval, "why": why}]
    assert len(_told_operators(bench)) == 1
    view = await bench.desk.approval(approval)
    assert view is not None
    assert view.shortfall == why


async def test_who_asks_is_not_among_those_who_may_decide(bench: Bench, targets: Targets) -> None:
    await _leave(bench, "cat", "sue")
    _, leaves = await _asked(bench, by="ann")
    assert len(leaves) == 1


async def test_an_approval_that_can_be_fulfilled_alarms_nobody(bench: Bench, targets: Targets) -> None:
    approval, leaves = await _asked(bench, by="rita")
    assert leaves == []
    assert _told_operators(bench) == []
    view = await bench.desk.approval(approval)
    assert view is not None
    assert view.shortfall == ""
