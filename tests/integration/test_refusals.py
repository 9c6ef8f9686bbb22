"""What does not count is on record, and does not make a chain as long as somebody likes to click."""

from typing import Any

from runtime.model.votes import CardAct
from tests.bench import Bench
from tests.integration.answers_stage import say
from tests.integration.glass_stage import filing

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
