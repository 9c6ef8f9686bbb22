"""Approvals in the database: used once, forged ones, refusals, and acts that leave too few approvers.

The database lets an approval be ended once, and used once while it is approved and before it expires.

An approval that somebody writes into the database, past every vote, lets nothing happen and calls a person.

What does not count is on record, and does not make a chain as long as somebody likes to click.

An act that would leave not enough eligible approvers is refused, and changes nothing.

A request without enough eligible approvers is seen when it is asked: on record, by operators, on its card.
"""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.slack import card_ref
from bot.views import references
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.effect import LeaseLostError
from runtime.model.states import ApprovalStatus, EffectStatus
from runtime.model.votes import CardAct, Refusal, RefusalCode
from runtime.store import approvals, effects
from tests.bench import Bench, open_bench
from tests.integration.acts_stage import delegate, say, undelegate
from tests.integration.conftest import PACK, Targets
from tests.integration.policies_stage import filing
from tests.logins import loading
from tests.patience import MINUTE

FILE = {"company": "ACME", "text": "report"}


async def test_the_benchmark_clicks_what_the_card_of_a_request_carries(bench: Bench) -> None:
    await bench.start("bench.file", FILE)
    await bench.settle()
    approval_id = await bench.approval_id()
    (row,) = await bench.meddle("SELECT approval_id, digest, requirement FROM approvals")
    view = await bench.desk.approval(approval_id)
    assert view
    assert card_ref(row) == references.of(view)


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


async def test_an_effect_that_has_moved_on_is_not_released(bench: Bench) -> None:
    approval_id = await approved(bench)
    query = "SELECT effect_id, status, error FROM effects WHERE approval_id = %s"
    (before,) = await bench.rows(query, approval_id)
    released = partial(effects.release, now=bench.clock(), give_up_at=bench.clock())
    with pytest.raises(LeaseLostError, match=before["effect_id"]):
        async with bench.engine.pool.connection() as conn, conn.transaction():
            await released(conn, before["effect_id"], EffectStatus.DEFERRED, EffectStatus.REJECTED)
    assert await bench.rows(query, approval_id) == [before]


async def test_an_approval_that_has_ended_is_not_ended_again(bench: Bench) -> None:
    approval_id = await approved(bench)
    with pytest.raises(approvals.ApprovalEndedError):
        async with bench.engine.pool.connection() as conn, conn.transaction():
            await approvals.close_approval(conn, approval_id, ApprovalStatus.REJECTED, bench.clock())
    (row,) = await bench.rows("SELECT status FROM approvals WHERE approval_id = %s", approval_id)
    assert row["status"] == ApprovalStatus.APPROVED


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


EIGHT = [None] * 8


async def _told(bench: Bench) -> list[tuple[str, str, Any]]:
    rows = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf ->> 'event' = 'vote.refused' ORDER BY seq")
    said = [row["leaf"] for row in rows]
    return [(leaf["actor"]["id"], leaf["data"]["code"], leaf["data"].get("nth")) for leaf in said]


async def _click(bench: Bench, person: str, approval: str, times: int) -> None:
    for number in range(times):
        assert not (await bench.click(person, approval, nonce=str(number))).counted


async def test_who_clicks_in_vain_is_on_record_one_by_one_and_then_at_each_doubling(bench: Bench) -> None:
    _, approval = await filing(bench)
    await _click(bench, "omar", approval, 40)
    assert await _told(bench) == [("omar", "vote.not_in_group", nth) for nth in (*EIGHT, 16, 32)]


async def test_each_person_each_reason_and_each_request_is_counted_by_itself(bench: Bench) -> None:
    _, first = await filing(bench, "1")
    _, second = await filing(bench, "2")
    for approval in (first, second):
        await _click(bench, "omar", approval, 9)
        await _click(bench, "rita", approval, 2)
        assert not (await say(bench, "omar", approval, CardAct.WITHDRAW, "too early")).counted
    codes = [(who, code) for who, code, _ in await _told(bench)]
    assert codes.count(("omar", "vote.not_in_group")) == 16
    assert codes.count(("rita", "vote.requester")) == 4
    assert codes.count(("omar", "vote.none")) == 2


async def test_a_vote_counts_after_many_that_did_not(bench: Bench) -> None:
    _, approval = await filing(bench)
    await _click(bench, "omar", approval, 20)
    assert (await bench.click("ann", approval)).counted


async def _asked(bench: Bench) -> str:
    await bench.start("bench.file", {"company": "ACME", "text": "report"})
    await bench.settle()
    return await bench.approval_id()


async def _without_accounts(bench: Bench, *people: str) -> None:
    named = ", ".join(f"'{person}'" for person in people)
    await bench.meddle(f"DELETE FROM slack_accounts WHERE actor_id IN ({named}) RETURNING 1")


async def _statuses(bench: Bench) -> list[Any]:
    return [row["ended_at"] for row in await bench.rows("SELECT ended_at FROM delegations ORDER BY recorded_at")]


async def test_a_delegation_does_not_end_while_an_open_request_needs_its_delegate(bench: Bench) -> None:
    await _without_accounts(bench, "ann", "cat", "sue")
    recorded = await delegate(bench, "ann", "sam")
    approval = await _asked(bench)
    refused = await undelegate(bench, recorded["delegation_id"])
    assert refused["status"] == "refused"
    assert refused["reason"].startswith(f"not enough eligible approvers would be left for request {approval} of 1: ")
    assert refused["reason"].endswith("it needs 2 distinct people, and 1 may decide")
    assert await _statuses(bench) == [None]
    assert (await bench.click("sam", approval)).counted
    assert (await undelegate(bench, recorded["delegation_id"], "omar"))["status"] == "applied"


async def test_a_delegation_ends_where_enough_others_are_left(bench: Bench) -> None:
    recorded = await delegate(bench, "ann", "sam")
    await _asked(bench)
    assert (await undelegate(bench, recorded["delegation_id"]))["status"] == "applied"


async def test_a_vote_is_not_withdrawn_that_its_person_could_not_give_again(bench: Bench) -> None:
    await _without_accounts(bench, "ann", "cat", "sue")
    recorded = await delegate(bench, "ann", "sam")
    approval = await _asked(bench)
    assert (await bench.click("sam", approval)).counted
    assert (await undelegate(bench, recorded["delegation_id"]))["status"] == "applied"
    wanted = Refusal(RefusalCode.NOT_ENOUGH_APPROVERS, ("it needs 2 distinct people, and 1 may decide",))
    assert await bench.desk.answers.may(CardAct.WITHDRAW, approval, "sam") == wanted
    assert (await say(bench, "sam", approval, CardAct.WITHDRAW, "not sure")).refusal == wanted
    assert len((await bench.desk.approval(approval)).votes) == 1  # type: ignore[union-attr]


async def test_a_review_is_not_handed_to_who_cannot_answer_it(bench: Bench) -> None:
    task = await bench.review()
    await _without_accounts(bench, "ben", "sue")
    refused = await bench.desk.answers.may_hand(task, "ann", "ben")
    assert refused
    assert refused.code is RefusalCode.NOT_ENOUGH_APPROVERS
    assert (await say(bench, "ann", task, CardAct.HAND, "yours", "ben")).refusal == refused
    assert await bench.desk.answers.may_hand(task, "ann", "cat") is None


async def _leave(bench: Bench, *people: str) -> None:
    """Take the Slack accounts of people away, so that they cannot be asked."""
    async with loading(bench.superuser) as conn:
        await conn.execute("DELETE FROM slack_accounts WHERE actor_id = ANY(%s)", (list(people),))


async def _asked_too_few(bench: Bench, by: str) -> tuple[str, list[dict[str, Any]]]:
    await bench.start("bench.file", {"company": "ACME", "text": "r"}, by=by)
    await bench.settle()
    leaves = await bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'approval.unfulfillable'")
    return await bench.approval_id(), [row["leaf"] for row in leaves]


def _told_operators(bench: Bench) -> list[str]:
    said = bench.chat.said("direct_message")
    return [one["text"] for one in said if one["user"] == "UOMAR" and "Not enough eligible approvers" in one["text"]]


async def test_an_approval_that_nobody_can_fulfil_is_on_record_told_and_shown(bench: Bench, targets: Targets) -> None:
    await _leave(bench, "ben", "cat", "sue")
    approval, leaves = await _asked_too_few(bench, by="rita")
    why = "it needs 2 distinct people, and 1 may decide"
    assert [leaf["data"] for leaf in leaves] == [{"approval_id": approval, "why": why}]
    assert len(_told_operators(bench)) == 1
    view = await bench.desk.approval(approval)
    assert view is not None
    assert view.shortfall == why


async def test_who_asks_is_not_among_those_who_may_decide(bench: Bench, targets: Targets) -> None:
    await _leave(bench, "cat", "sue")
    _, leaves = await _asked_too_few(bench, by="ann")
    assert len(leaves) == 1


async def test_an_approval_that_can_be_fulfilled_alarms_nobody(bench: Bench, targets: Targets) -> None:
    approval, leaves = await _asked_too_few(bench, by="rita")
    assert leaves == []
    assert _told_operators(bench) == []
    view = await bench.desk.approval(approval)
    assert view is not None
    assert view.shortfall == ""


TWO_FILINGS = """
name: two-filings
version: 1
title: Two filings and an answer
trigger: {type: bench.two_filings, schema: {}}
steps:
  - {id: first, needs: [], verb: file, params: {company: A, text: r}}
  - {id: second, needs: [], verb: file, params: {company: B, text: r}}
  - {id: ask, needs: [], verb: await_answer, params: {case: "1"}}
"""


async def test_a_rejection_that_ends_a_run_ends_all_else_that_the_run_asks_and_waits_for(
    dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path
) -> None:
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks/two.yaml").write_text(TWO_FILINGS, encoding="utf-8")
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, tmp_path], targets.handlers()) as bench,
    ):
        run_id = (await bench.start("bench.two_filings", {})).run_id
        await bench.settle()
        [first] = await bench.rows("SELECT approval_id FROM approvals WHERE step = 'first'")
        assert (await bench.click("ann", first["approval_id"], "reject", "not like this")).counted
        ended = {row["step"]: row["status"] for row in await bench.rows("SELECT step, status FROM approvals")}
        effects = "SELECT step, status FROM effects WHERE run_id = %s AND purpose = 'step' AND status <> 'succeeded'"
        left = {row["step"]: row["status"] for row in await bench.rows(effects, run_id)}
        waits = {row["status"] for row in await bench.rows("SELECT status FROM waits WHERE step <> 'first'")}
        assert (await bench.run(run_id))["status"] == "failed_terminal"
        assert ended == {"first": "rejected", "second": "canceled"}
        assert (left["first"], left["second"], waits) == ("rejected", "rejected", {"canceled"})
