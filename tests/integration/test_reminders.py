"""Who is asked and has not decided is reminded, with growing pauses, at times at which they may be told."""

import json
from typing import Any

import pytest

from tests.bench import Bench
from tests.integration.conftest import Targets
from tests.integration.delegates_stage import delegate

NIGHT = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "18:00", "until": "08:00"}
QUIET = {"timezone": "UTC", "quiet_hours": [NIGHT], "passes": ["high"]}
REPORT = {"company": "ACME", "text": "r"}


async def _says(bench: Bench, remind: dict[str, Any] | None = None, **notices: dict[str, Any]) -> None:
    """Let the directory say how people are told."""
    await bench.meddle("UPDATE directories SET remind = %s", json.dumps(remind or {}))
    for person, said in notices.items():
        await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", json.dumps(said), person)


async def _asked(bench: Bench, kind: str = "bench.file") -> str:
    await bench.start(kind, REPORT)
    await bench.settle()
    return await bench.approval_id()


def _direct(bench: Bench, words: str = "Still open") -> list[str]:
    """Return who was told something directly, and forget it."""
    said = [one["user"] for one in bench.chat.said("direct_message") if words in one["text"]]
    bench.chat.calls.clear()
    return sorted(said)


async def _reminded(bench: Bench, hours: int) -> list[int]:
    """Let hours pass; return those in which somebody was reminded."""
    reminded = []
    for hour in range(1, hours + 1):
        await bench.later(hours=1)
        reminded += [hour] if _direct(bench) else []
    return reminded


async def test_a_request_of_which_nothing_is_said_is_remembered_as_the_tenant_says(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, {"first": 3600, "factor": 2, "at_most": 3})
    await _asked(bench)
    assert await _reminded(bench, 16) == [1, 3, 7]


async def test_nobody_is_reminded_where_the_tenant_says_nothing(bench: Bench, targets: Targets) -> None:
    await _asked(bench)
    assert await _reminded(bench, 10) == []


async def test_what_a_verb_says_holds_and_not_what_the_tenant_says(patient: Bench) -> None:
    await _says(patient, {"first": 3600, "factor": 1, "at_most": 9})
    await patient.start("patience.review", {}, "case-7")
    await patient.settle()
    assert await _reminded(patient, 30) == [24]


async def test_only_who_may_decide_and_has_not_is_reminded_with_the_way_to_the_card(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 9})
    approval = await _asked(bench)
    await bench.later(hours=1)
    [card] = {one["card_of"] for one in bench.chat.said("direct_message")}
    assert (card, _direct(bench)) == (approval, ["UANN", "UBEN", "UCAT"])
    await bench.click("ann", approval)
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"]
    await bench.meddle("UPDATE runs SET requested_by = 'ben'")
    await bench.later(hours=1)
    assert _direct(bench) == ["UCAT"], "ben asks for it, and may not decide it"


async def test_who_stands_in_is_reminded_until_one_of_the_two_has_voted(bench: Bench, targets: Targets) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 9})
    await delegate(bench, "ann", "sam")
    approval = await _asked(bench)
    await bench.later(hours=1)
    assert _direct(bench) == ["UANN", "UBEN", "UCAT", "USAM"]
    await bench.click("sam", approval)
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"]


async def test_reminders_stop_when_it_is_decided(bench: Bench, targets: Targets) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 9})
    approval = await _asked(bench)
    await bench.click("ann", approval, verdict="reject")
    await bench.settle()
    assert await _reminded(bench, 3) == []


async def test_a_reminder_in_quiet_hours_waits_until_they_end_and_the_card_does_not(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 1}, ann={**QUIET, "passes": []}, ben=QUIET)
    bench.clock.move(hours=10)
    await _asked(bench)
    assert bench.chat.said("post_card"), "at seven in the evening"
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"], "ben is told, since high tiers pass"
    await bench.later(hours=11)
    assert _direct(bench) == []
    await bench.later(hours=1)
    assert _direct(bench) == ["UANN"]


async def test_who_is_asked_next_in_quiet_hours_hears_of_it_after_them_and_may_vote_before(
    bench: Bench, targets: Targets
) -> None:
    await _says(bench, sue={**QUIET, "passes": []})
    bench.clock.move(hours=8)
    approval = await _asked(bench)
    await bench.later(hours=6)
    assert [one["channel"] for one in bench.chat.said("post_message") if "Escalated" in one["text"]]
    assert _direct(bench, "Escalated") == []
    assert (await bench.click("sue", approval)).counted
    await bench.later(hours=9)
    assert _direct(bench, "Escalated") == ["USUE"]


@pytest.mark.parametrize("waits", [20, 70])
async def test_what_waits_for_the_end_of_quiet_hours_is_not_given_up_meanwhile(
    bench: Bench, targets: Targets, waits: int
) -> None:
    always = {"days": ["mon", "tue", "wed"], "from": "00:00", "until": "24:00"}
    await _says(bench, {"first": 3600, "factor": 1, "at_most": 1}, ann={"quiet_hours": [always], "timezone": "UTC"})
    await _asked(bench)
    await bench.later(hours=1)
    assert _direct(bench) == ["UBEN", "UCAT"]
    await bench.later(hours=waits)
    assert _direct(bench) == (["UANN"] if waits > 62 else [])
