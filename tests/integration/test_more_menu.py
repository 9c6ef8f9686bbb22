"""The menu of a card: withdraw, change, hand on, cancel, and what each person is told.

What the menu of a card does in Slack: a vote is withdrawn, changes are requested, and a request is handed on.

*Cancel this request* in the menu of a card, and beside a run: put to policy, with a reason, and on record.

What each person is told is true of them: of votes given for them, of claims, of broken glass, of escalations.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.views.more_menu import ENTRIES
from bot.views.references import APPROVE, CANCEL, MORE
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.routing import Fallback
from runtime.model.states import ApprovalStatus
from runtime.model.votes import CardAct
from runtime.services.refusal_words import refusal_words
from sandbox.harness import SandboxUser, messages
from tests.bench import ROUTING, Bench
from tests.integration.acts_stage import delegate, say
from tests.integration.chat_stage import CHANNEL, Chat, chatting, choose, entry, newest, opened, recorded
from tests.integration.conftest import Targets
from tests.integration.policies_stage import break_glass, glass_policy
from tests.integration.seen import whispered
from tests.patience import MINUTE


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def test_a_vote_is_withdrawn_and_given_again_on_the_card(chat: Chat) -> None:
    approval_id = await chat.file()
    assert (await chat.bench.click("ann", approval_id)).counted
    ann = await opened(chat, "ann", "Withdraw my vote")
    assert (await ann.submit({"reason": "read it again"}))["ok"]
    await recorded(chat, "vote.withdrawn")
    card = await newest(chat, ann)
    assert "0 of 2 approvals · Ann withdrew" in str(card["blocks"])
    await ann.click(card, APPROVE)
    await ann.find_modal(timeout=MINUTE)
    await ann.submit({"reason": "now I am sure"})
    await recorded(chat, "vote.counted", 2)


async def test_who_has_not_voted_is_told_so_before_they_write_and_is_on_record(chat: Chat) -> None:
    approval_id = await chat.file()
    assert (await chat.bench.click("ann", approval_id)).counted
    ben = await chat.person("ben")
    await choose(ben, await newest(chat, ben), "Withdraw my vote")
    await whispered(ben, "no counted vote")
    assert (await ben.see())["modal"] is None
    refused = await chat.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf ->> 'event' = 'vote.refused'")
    assert [row["leaf"]["data"]["verdict"] for row in refused] == ["withdraw"]


async def test_nobody_can_withdraw_where_nobody_has_voted(chat: Chat) -> None:
    await chat.file()
    ann = await chat.person("ann")
    with pytest.raises(StopIteration):
        entry(await newest(chat, ann), "Withdraw my vote")


async def test_changes_are_requested_on_the_card_and_it_says_so(chat: Chat) -> None:
    approval_id = await chat.file()
    ann = await opened(chat, "ann", "Request changes")
    refused = await ann.submit({"reason": "no"})
    assert "at least 3" in str(refused["errors"])
    assert (await ann.submit({"reason": "name the owners"}))["ok"]
    await recorded(chat, "approval.rejected")
    assert await chat.decided(approval_id) is ApprovalStatus.REJECTED
    card = await newest(chat, ann)
    assert card["text"].startswith("Changes requested:")
    assert "changes requested by Ann" in str(card["blocks"])


@pytest.mark.parametrize("label", ["Ask a question", "Request changes"])
async def test_words_about_what_has_ended_meanwhile_do_not_count_and_their_person_hears_why(
    chat: Chat, label: str
) -> None:
    approval_id = await chat.file()
    ann = await opened(chat, "ann", label)
    assert (await chat.bench.click("ben", approval_id, "reject")).counted
    assert (await ann.submit({"reason": "name the owners"}))["ok"]
    await whispered(ann, "already rejected")


async def test_the_requester_cannot_request_changes(chat: Chat) -> None:
    approval_id = await chat.file()
    rita = await chat.person("rita")
    await choose(rita, await newest(chat, rita), "Request changes")
    await whispered(rita, "someone else has to decide")
    assert await chat.decided(approval_id) is ApprovalStatus.REQUESTED


async def test_a_request_is_handed_to_another_who_is_called_in_the_thread(chat: Chat) -> None:
    await chat.file()
    ann = await opened(chat, "ann", "Hand to")
    for wrong in ("URITA", "UANN", "UOMAR"):
        refused = await ann.submit({"whom": wrong, "reason": "I am away"})
        assert "may not decide this" in str(refused["errors"]["whom"])
    assert (await ann.submit({"whom": "UCAT", "reason": "I am away"}))["ok"]
    await recorded(chat, "approval.handed")
    cat = await chat.person("cat")
    told = [one for one in messages(await cat.see()) if "handed this to Cat" in one["text"]]
    assert [one["mentions"] for one in told] == [["UCAT"], ["UCAT"]], "in the thread, and in private"


async def test_what_could_not_be_recorded_leaves_the_modal_open(chat: Chat) -> None:
    await chat.file()
    ann = await opened(chat, "ann", "Hand to")
    await chat.bench.engine.pool.close()
    refused = await ann.submit({"whom": "UCAT", "reason": "I am away"})
    assert "may not have been recorded" in str(refused["errors"])
    assert (await ann.see())["modal"]


@pytest.mark.parametrize(
    "label", ["Ask a question", "Request changes", "Withdraw my vote", "Hand to", "Cancel this request"]
)
async def test_a_choice_is_acknowledged_while_slack_opens_no_modal(chat: Chat, label: str) -> None:
    approval_id = await chat.file()
    ann = await chat.person("ann")
    if label == "Withdraw my vote":
        assert (await chat.bench.click("ann", approval_id)).counted
    card = await newest(chat, ann)
    chat.faults.hold("views.open")
    async with asyncio.timeout(3):
        action, value = entry(card, label)
        assert (await ann.click(card, action, chosen=value))["ok"]
    chat.faults.lift("views.open")
    await ann.find_modal(timeout=MINUTE)


async def _asked(chat: Chat, name: str) -> tuple[SandboxUser, str]:
    approval_id = await chat.file()
    (card,) = await chat.cards()
    person = await chat.person(name)
    await choose(person, {**card, "channel": CHANNEL}, "Cancel this request")
    await person.find_modal(timeout=MINUTE)
    return person, approval_id


async def _leaves(chat: Chat, event: str) -> list[tuple[str, dict[str, Any]]]:
    (run,) = await chat.bench.rows("SELECT run_id FROM runs")
    return [(leaf.actor.id, dict(leaf.data)) for leaf in await chat.bench.chain(run["run_id"]) if leaf.event == event]


async def test_the_requester_cancels_their_request_from_its_card(chat: Chat) -> None:
    rita, approval_id = await _asked(chat, "rita")
    assert (await rita.submit({"reason": "not needed any more"}))["ok"]
    await whispered(rita, "Canceled: open requests are closed")
    assert await chat.decided(approval_id) is ApprovalStatus.CANCELED
    [(by, said)] = await _leaves(chat, "run.cancel_requested")
    assert (by, said["reason"], set(said["policy"])) == ("rita", "not needed any more", {"decision_id", "digest"})
    (card,) = await chat.cards()
    assert MORE[0] not in str(card["blocks"])
    assert "Not done: canceled by Rita: not needed any more" in str(card["blocks"])


async def test_who_is_neither_requester_nor_operator_cancels_nothing_and_is_on_record(chat: Chat) -> None:
    ann, approval_id = await _asked(chat, "ann")
    await ann.submit({"reason": "I do not like it"})
    await whispered(ann, "Nothing was canceled: denied by policy")
    assert await chat.decided(approval_id) is ApprovalStatus.REQUESTED
    assert [by for by, _ in await _leaves(chat, "notification.refused")] == ["ann"]


async def test_a_cancel_needs_a_reason_and_the_modal_stays_open_without(chat: Chat) -> None:
    rita, approval_id = await _asked(chat, "rita")
    refused = await rita.submit({"reason": "\u200b\u200b\u200b"})
    assert "visible" in str(refused["errors"])
    assert await chat.decided(approval_id) is ApprovalStatus.REQUESTED


async def test_what_cannot_be_recorded_leaves_the_modal_open_and_says_so(chat: Chat) -> None:
    rita, _ = await _asked(chat, "rita")
    await chat.bench.engine.pool.close()
    refused = await rita.submit({"reason": "not needed any more"})
    assert "Something went wrong on our side" in str(refused["errors"])
    assert (await rita.see())["modal"]


async def test_a_stranger_who_wants_to_cancel_is_told_so_and_is_on_record(chat: Chat) -> None:
    await chat.file()
    (card,) = await chat.cards()
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'rita' RETURNING 1")
    rita = await chat.person("rita")
    await choose(rita, {**card, "channel": CHANNEL}, "Cancel this request")
    await whispered(rita, "no person for your Slack account")
    [(_, said)] = await _leaves(chat, "notification.refused")
    assert (said["act"], said["code"]) == ("cancel", "identity.unknown")


async def test_the_list_of_ones_own_requests_cancels_those_that_go_on(chat: Chat) -> None:
    approval_id = await chat.file()
    rita = await chat.person("rita")
    await rita.command(CHANNEL, "/countersign mine")
    listed = await rita.find_card(lambda message: CANCEL in str(message.get("blocks", "")), MINUTE)
    await rita.click(listed, CANCEL)
    await rita.find_modal(timeout=MINUTE)
    await rita.submit({"reason": "not needed any more"})
    await whispered(rita, "Canceled: open requests are closed")
    assert await chat.decided(approval_id) is ApprovalStatus.CANCELED
    await rita.click(listed, CANCEL)
    await whispered(rita, "This run has ended")


async def test_the_menu_stands_in_show_all_as_well(chat: Chat) -> None:
    await chat.file()
    (card,) = await chat.cards()
    rita = await chat.person("rita")
    await rita.click({**card, "channel": CHANNEL}, "countersign_show_all")
    modal = await rita.find_modal(timeout=MINUTE)
    action, value = entry(modal, "Cancel this request")
    await rita.click_view("modal", action, chosen=value)
    above = await rita.wait_for(
        lambda state: state["modal"] if "Cancel the request" in str(state["modal"]) else None, MINUTE
    )
    assert above
    assert (await rita.submit({"reason": "not needed any more"}))["ok"]
    assert (await rita.see())["modal"] is None


def test_each_value_of_the_menu_has_room_in_slack() -> None:
    longest = max(len(entry.act) for entry in ENTRIES)
    ids = {"id": f"apr_{'f' * 24}", "digest": "f" * 16, "stamp": "f" * 16}
    assert len(str(ids).replace("'", '"')) + len(', "act": ""') + longest <= 150


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
