"""Delegator and delegate are told of a delegation: when it is recorded, when it is used, and when it is ended."""

import json

import pytest

from tests.bench import Bench
from tests.integration.delegates_stage import delegate, undelegate

BOTH = ["UANN", "USAM"]
ALWAYS = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "until": "20:00"}


async def _told(bench: Bench, *kinds: str) -> list[tuple[str, str]]:
    """Return whom direct messages of these kinds went to, in order, and what they said."""
    await bench.settle()
    said = [one for one in bench.chat.said("direct_message") if one["said"]["kind"] in kinds]
    return sorted((one["user"], one["text"]) for one in said)


async def test_delegator_and_delegate_are_told_that_a_delegation_is_recorded(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    words = (
        "Omar recorded a delegation: Sam votes for Ann in compliance,"
        ' from 2026-01-05 09:00 UTC until 2026-01-12 09:00 UTC: "on leave"'
    )
    assert await _told(bench, "delegation_changed") == [(user, words) for user in BOTH]


async def test_delegator_and_delegate_are_told_that_a_delegation_is_ended(bench: Bench) -> None:
    done = await delegate(bench, "ann", "sam")
    await bench.settle()
    bench.chat.calls.clear()
    await undelegate(bench, done["delegation_id"])
    told = await _told(bench, "delegation_changed")
    assert [user for user, _ in told] == BOTH
    for _, text in told:
        assert text.startswith("Omar ended the delegation by which Sam votes for Ann in compliance")
        assert text.endswith(': "back early"')


async def test_delegator_and_delegate_are_told_each_time_that_a_delegation_is_used(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    assert (await bench.click("sam", await bench.approval_id())).counted
    told = await _told(bench, "delegate_voted")
    assert [user for user, _ in told] == BOTH
    assert {text for _, text in told} == {"Sam approved for Ann, by delegation: file of One filing (1)."}


async def test_who_votes_for_themselves_hears_of_no_delegation(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    assert (await bench.click("ben", await bench.approval_id())).counted
    assert await _told(bench, "delegate_voted") == []


@pytest.mark.parametrize("person", ["ann", "sam"])
async def test_who_has_quiet_hours_is_told_of_a_delegation_after_them(bench: Bench, person: str) -> None:
    said = json.dumps({"timezone": "UTC", "quiet_hours": [ALWAYS]})
    await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", said, person)
    await delegate(bench, "ann", "sam")
    others = [user for user in BOTH if user != f"U{person.upper()}"]
    assert [user for user, _ in await _told(bench, "delegation_changed")] == others
    await bench.later(hours=12)
    assert [user for user, _ in await _told(bench, "delegation_changed")] == BOTH


async def test_a_delegation_that_is_refused_tells_nobody(bench: Bench) -> None:
    assert (await delegate(bench, "ann", "ann"))["status"] == "refused"
    assert await _told(bench, "delegation_changed") == []


async def test_nobody_is_told_that_the_run_which_told_of_a_delegation_has_ended(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    assert await _told(bench, "run_ended") == []
    assert [row["status"] for row in await bench.rows("SELECT status FROM runs")] == ["succeeded"]
