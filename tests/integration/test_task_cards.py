"""A review's card in Slack: who works on it, how far it has come, and the buttons that take it on and give it back."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.views.references import APPROVE, CLAIM, REJECT, RELEASE, SHOW_ALL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from sandbox.harness import SandboxUser
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.seen import whispered
from tests.patience import MINUTE, until


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _card(chat: Chat, person: SandboxUser, words: str) -> dict[str, Any]:
    """Return the review's card as the person sees it once it shows these words."""
    await chat.bench.settle()
    card: dict[str, Any] = await person.find_card(
        lambda message: "Review needed" in message["text"] and words in json.dumps(message["blocks"])
    )
    return card


def _buttons(card: dict[str, Any]) -> dict[str, str]:
    (actions,) = [block for block in card["blocks"] if block["type"] == "actions"]
    named = [one for one in actions["elements"] if "text" in one and one["action_id"] != SHOW_ALL]
    return {button["text"]["text"]: button["action_id"] for button in named}


async def _claimed(chat: Chat, task: str, person: str | None) -> None:
    """Wait until the review is claimed by a person, or by nobody."""

    async def is_so() -> bool:
        rows = await chat.bench.rows("SELECT assignee FROM approvals WHERE approval_id = %s", task)
        return bool(rows[0]["assignee"] == person)

    await until(is_so)


async def test_a_claim_in_slack_shows_on_the_card_and_whoever_else_answers_is_told(chat: Chat) -> None:
    task = await chat.bench.review()
    ann, ben = await chat.person("ann"), await chat.person("ben")
    card = await _card(chat, ann, "Claim")
    assert _buttons(card) == {"Approve": APPROVE, "Reject": REJECT, "Claim": CLAIM}
    await ann.click(card, CLAIM)
    await _claimed(chat, task, "ann")
    card = await _card(chat, ben, "Claimed by")
    assert "Ann" in json.dumps(card["blocks"])
    expected = {"Approve": APPROVE, "Reject": REJECT, "Release": RELEASE, "Take over": CLAIM}
    assert _buttons(card) == expected
    await ben.click(card, APPROVE)
    assert await whispered(ben, "Ann has claimed this. You can answer it once they release it.")
    await ben.click(card, RELEASE)
    assert await whispered(ben, "You have not claimed this")
    await ann.click(card, RELEASE)
    await _claimed(chat, task, None)
    assert "Take over" not in _buttons(await _card(chat, ben, '"Claim"'))


async def test_the_card_shows_how_far_a_review_has_come_as_data(chat: Chat) -> None:
    await chat.bench.review()
    (wait,) = await chat.bench.rows("SELECT correlation_key FROM waits WHERE type = 'human_task'")
    ann = await chat.person("ann")
    await _card(chat, ann, "Claim")
    data = {"documents": "2 of 4", "*bold*": "<!channel>"}
    await chat.bench.progress(wait["correlation_key"], "half *done*", data, ["review"])
    card = await _card(chat, ann, "Progress")
    shown = {(cell["type"], cell["text"]) for block in card["blocks"] for cell in block.get("fields", ())}
    assert {("plain_text", word) for word in ("2 of 4", "*bold*", "half *done*")} <= shown
    assert {kind for kind, text in shown if "!channel" in text} == {"plain_text"}
    await ann.click(card, SHOW_ALL)
    modal = json.dumps(await ann.find_modal())
    assert "Progress" in modal
    assert "2 of 4" in modal
