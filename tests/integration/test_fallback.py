"""Who cannot be reached is seen when people are asked: delegates count, and others are asked if the tenant says so."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runtime.model.delegation import Delegation
from runtime.model.routing import Fallback
from runtime.store.delegations import add_delegation
from tests.bench import ROUTING, TENANT, Bench
from tests.integration.test_routes import Benching, bench_with
from tests.integration.test_unfulfillable import _asked, _leave

__all__ = ["bench_with"]
SENIORS = replace(ROUTING, fallback=Fallback(("senior-compliance",), ("C0DESK",)))
OTHERS = replace(ROUTING, fallback=Fallback(("security",)))


async def _stands_in(bench: Bench, delegator: str, delegate: str, by: str = "omar", group: str = "compliance") -> None:
    now = bench.clock()
    new = Delegation(
        f"dlg_{delegator}_{delegate}",
        delegator,
        delegate,
        (group,),
        now - timedelta(hours=1),
        now + timedelta(days=1),
        by,
        "away",
    )
    async with bench.engine.pool.connection() as conn:
        await add_delegation(conn, TENANT, new, now)


async def _fell_back(bench: Bench) -> list[dict[str, Any]]:
    rows = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'approval.fell_back'")
    return [row["leaf"]["data"] for row in rows]


async def test_a_delegate_of_somebody_who_cannot_be_reached_counts(bench: Bench) -> None:
    await _leave(bench, "ben", "cat", "sue")
    await _stands_in(bench, "ben", "pam")
    approval, leaves = await _asked(bench, by="rita")
    assert leaves == []
    for person in ("ann", "pam"):
        assert (await bench.click(person, approval)).counted


async def test_one_delegate_stands_in_for_one_alone(bench: Bench) -> None:
    await _leave(bench, "ann", "ben", "cat", "sue")
    for delegator in ("ann", "ben", "cat"):
        await _stands_in(bench, delegator, "pam")
    _, leaves = await _asked(bench, by="rita")
    assert [leaf["data"]["why"] for leaf in leaves] == ["it needs 2 distinct people, and 1 may decide"]


@pytest.mark.parametrize(
    ("delegate", "recorded_by"),
    [("rita", "omar"), ("ann", "omar"), ("pam", "rita")],
    ids=["who asks", "who is asked", "by word of who asks"],
)
async def test_a_delegate_who_may_not_vote_for_them_does_not_count(
    bench: Bench, delegate: str, recorded_by: str
) -> None:
    await _leave(bench, "ben", "cat", "sue")
    await _stands_in(bench, "ben", delegate, by=recorded_by)
    _, leaves = await _asked(bench, by="rita")
    assert len(leaves) == 1


async def test_a_delegate_in_another_group_does_not_count(bench: Bench) -> None:
    await _leave(bench, "ben", "cat", "sue")
    await _stands_in(bench, "ben", "pam", group="senior-compliance")
    _, leaves = await _asked(bench, by="rita")
    assert len(leaves) == 1


async def test_what_those_asked_cannot_decide_goes_to_the_fallback_and_is_decided_there(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _leave(bench, "ben", "cat")
        approval, unfulfillable = await _asked(bench, by="rita")
        why = "it needs 2 distinct people, and 1 may decide"
        assert await _fell_back(bench) == [{"approval_id": approval, "why": why, "to": ["senior-compliance"]}]
        assert unfulfillable == []
        cards = sorted(card["channel"] for card in bench.chat.said("post_card"))
        assert cards == ["C0COMPLIANCE", "C0DESK", "USUE"]
        view = await bench.desk.approval(approval)
        assert view is not None
        assert (view.fell_back, view.fallback, view.shortfall, view.escalated) == (
            why,
            ("senior-compliance",),
            "",
            False,
        )
        for person in ("ann", "sue"):
            assert (await bench.click(person, approval)).counted
        await bench.settle()
        assert (await bench.rows("SELECT status FROM runs"))[0]["status"] == "succeeded"


async def test_policy_alone_says_who_signs_so_others_are_told_and_may_not(bench_with: Benching) -> None:
    async with bench_with(OTHERS) as bench:
        await _leave(bench, "ben", "cat", "sue")
        approval, unfulfillable = await _asked(bench, by="rita")
        assert len(unfulfillable) == 1
        assert [one["to"] for one in await _fell_back(bench)] == [["security"]]
        assert {"UPAM", "USAM"} <= {card["channel"] for card in bench.chat.said("post_card")}
        assert not (await bench.click("sam", approval)).counted


async def test_what_those_asked_can_decide_does_not_fall_back(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _leave(bench, "cat")
        approval, _ = await _asked(bench, by="rita")
        assert await _fell_back(bench) == []
        assert not (await bench.click("sue", approval)).counted, "her time has not come"


async def test_who_asks_leaves_the_others_too_few_and_it_falls_back(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _leave(bench, "cat")
        await _asked(bench, by="ann")
        assert len(await _fell_back(bench)) == 1


async def _deactivate(bench: Bench, *people: str) -> None:
    """Note that Slack says that people's accounts are deactivated."""
    await bench.meddle(
        "INSERT INTO slack_absentees (tenant, team, account, since)"
        " SELECT tenant, team, account, now() FROM slack_accounts WHERE actor_id IN ('" + "','".join(people) + "')"
    )


async def test_who_is_deactivated_is_asked_and_told_nothing_and_others_are_asked_instead(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _deactivate(bench, "ben", "cat", "rita")
        approval, _ = await _asked(bench, by="rita")
        assert [one["to"] for one in await _fell_back(bench)] == [["senior-compliance"]]
        view = await bench.desk.approval(approval)
        assert view is not None
        assert set(view.asked) == {"UANN", "USUE"}
        await bench.later(hours=7)
        assert (await bench.click("ann", approval, "reject", "not now")).counted
        await bench.settle()
        told = {one["user"] for one in bench.chat.said("direct_message")}
        asked = {one["channel"] for one in bench.chat.said("post_card")}
        assert told
        assert (told | asked).isdisjoint({"UBEN", "UCAT", "URITA"})


async def test_who_is_active_again_is_asked_and_told_again(bench_with: Benching) -> None:
    async with bench_with(SENIORS) as bench:
        await _deactivate(bench, "ben", "cat", "rita")
        await bench.meddle("DELETE FROM slack_absentees")
        approval, _ = await _asked(bench, by="rita")
        assert await _fell_back(bench) == []
        assert (await bench.click("ann", approval, "reject", "not now")).counted
        await bench.settle()
        assert "URITA" in {one["user"] for one in bench.chat.said("direct_message")}
