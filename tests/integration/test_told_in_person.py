"""What each person is told is true of them: of votes given for them, of claims, of broken glass, of escalations."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.views.refusals import refusal_words
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.routing import Fallback
from runtime.model.votes import CardAct
from tests.bench import ROUTING, Bench
from tests.integration.answers_stage import say
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.delegates_stage import delegate
from tests.integration.glass_stage import break_glass, glass_policy
from tests.integration.more_stage import choose, newest
from tests.integration.seen import whispered
from tests.patience import MINUTE

NIGHT = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "14:00", "until": "20:00"}


@pytest.fixture
async def glass(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    async with glass_policy(tmp_path) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _texts(chat: Chat, person: str) -> list[str]:
    """Return what a person was told directly."""
    state = await (await chat.person(person)).see()
    return [
        one["text"] for channel in state["channels"] if channel["id"].startswith("D") for one in channel["messages"]
    ]


async def _leave(bench: Bench, person: str) -> None:
    """Note that Slack says that somebody's account is deactivated."""
    await bench.meddle(
        "INSERT INTO slack_absentees (tenant, team, account, since)"
        " SELECT tenant, team, account, now() FROM slack_accounts WHERE actor_id = %s",
        person,
    )


async def test_for_whom_somebody_has_voted_is_told_who_it_was(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("sam", approval)).counted
    for outcome in (
        await bench.click("ann", approval),
        await say(bench, "ann", approval, CardAct.WITHDRAW, "not by me"),
    ):
        assert outcome.refusal is not None
        assert refusal_words(outcome.refusal) == (
            "Sam has voted on this for you. That vote stands unless Sam withdraws it."
        )


async def test_the_claim_of_a_deactivated_account_holds_nobody_up(bench: Bench) -> None:
    review = await bench.review()
    assert (await bench.claim("ann", review)).counted
    await _leave(bench, "ann")
    assert [one.view.approval_id for one in (await bench.pending("ben", 5)).page.entries] == [review]
    assert await bench.desk.may_decide(review, "ben") is None
    assert (await bench.click("ben", review)).counted


@pytest.mark.parametrize(("person", "why"), [("ann", "members of"), ("rita", "requested this yourself")])
async def test_the_form_to_break_the_glass_opens_for_those_alone_who_may(glass: Chat, person: str, why: str) -> None:
    await glass.file()
    user = await glass.person(person)
    await choose(user, await newest(glass, user), "Break-glass")
    await whispered(user, why)
    assert (await user.see())["modal"] is None


async def test_that_a_broken_glass_was_not_justified_is_told_in_private(glass: Chat) -> None:
    await break_glass(glass.bench, "ivy", await glass.file())
    await glass.bench.settle()
    review = await glass.bench.approval_id("afterwards")
    assert (await glass.bench.click("sue", review, "reject", "there was no emergency")).counted
    await glass.bench.settle()
    for person in ("ivy", "sam", "rita"):
        told = [text for text in await _texts(glass, person) if "not justified" in text]
        assert len(told) == 1
        assert "found the break-glass by Ivy not justified" in told[0]
        assert told[0].endswith('(INC-7): "there was no emergency"')


async def test_to_whom_a_request_fell_back_has_a_card_of_their_own(dsn: str, opa: OpaChild, targets: Targets) -> None:
    routing = replace(ROUTING, fallback=Fallback(("security",), ()))
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets, routing=routing) as chat:
        await chat.bench.meddle("DELETE FROM actors WHERE actor_id IN ('ben', 'cat', 'sue')")
        await chat.file()
        for person in ("sam", "pam"):
            assert [text for text in await _texts(chat, person) if text.startswith("Approval needed")]


async def test_an_escalation_to_people_in_quiet_hours_says_from_when_they_are_asked(bench: Bench) -> None:
    quiet = {"timezone": "UTC", "quiet_hours": [NIGHT]}
    await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = 'sue'", json.dumps(quiet))
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    await bench.later(hours=6)
    told = [one["text"] for one in bench.chat.said("post_message") if "Escalated" in one["text"]]
    assert told
    assert all(
        "Escalated to senior-compliance from 2026-01-05 20:00 UTC on, after quiet hours: " in text for text in told
    )
