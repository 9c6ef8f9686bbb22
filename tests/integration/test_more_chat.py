"""What the menu of a card does in Slack: a vote is withdrawn, changes are requested, and a request is handed on."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.views.references import APPROVE
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.states import ApprovalStatus
from sandbox.harness import messages
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.more_stage import choose, entry, newest, opened, recorded
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


async def test_what_could_not_be_recorded_leaves_each_modal_open(chat: Chat) -> None:
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
