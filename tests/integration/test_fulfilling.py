"""An act that would leave not enough eligible approvers is refused, and changes nothing."""

from typing import Any

from runtime.model.votes import CardAct, Refusal, RefusalCode
from tests.bench import Bench
from tests.integration.answers_stage import say
from tests.integration.delegates_stage import delegate, undelegate


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
    assert refused["reason"].startswith(f"not enough eligible approvers would be left for request {approval} of ")
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
