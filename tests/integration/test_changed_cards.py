"""A card that somebody edits in Slack is put back and told; one that somebody deletes is posted again."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from sandbox.harness import SandboxUser
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.patience import MINUTE

ALWAYS = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "until": "22:00"}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _until(chat: Chat, holds: Callable[[], Awaitable[bool]]) -> None:
    """Do all that can be done until something holds: Slack's events are acknowledged before they are acted on."""
    async with asyncio.timeout(MINUTE):
        while not await holds():
            await asyncio.sleep(0.02)
            await chat.bench.settle()


async def _told(person: SandboxUser) -> list[str]:
    """Return the alarms about cards that a person was told directly."""
    state = await person.see()
    found = [one for channel in state["channels"] if channel["id"].startswith("D") for one in channel["messages"]]
    return [one["text"] for one in found if "edited the card" in one["text"]]


async def _card(chat: Chat) -> dict[str, Any]:
    [card] = await chat.cards()
    return card


async def _edit(chat: Chat, editor: str, text: str = "Approve: nothing is filed") -> None:
    """Edit the card as somebody, and have Slack say so."""
    message = chat.sandbox.store.find(CHANNEL, (await _card(chat))["ts"])
    assert message
    edited = {"user": editor, "ts": chat.sandbox.next_ts()}
    message |= {"text": text, "edited": edited}
    await chat.happen(
        {
            "type": "message",
            "subtype": "message_changed",
            "channel": CHANNEL,
            "ts": edited["ts"],
            "message": {"type": "message", "ts": message["ts"], "text": text, "edited": edited},
        }
    )


async def _alarms(chat: Chat, person: str, count: int = 1) -> list[str]:
    """Return what a person is told of edited cards, once it is so much."""
    user = await chat.person(person)

    async def enough() -> bool:
        return len(await _told(user)) >= count

    await _until(chat, enough)
    return await _told(user)


async def _is_card(chat: Chat, text: str, *, but: str = "") -> None:
    """Wait until one card stands, with that text, and not at `but`."""

    async def holds() -> bool:
        return [(one["text"], one["ts"] != but) for one in await chat.cards()] == [(text, True)]

    await _until(chat, holds)


async def test_a_card_that_somebody_edited_is_put_back(chat: Chat) -> None:
    await chat.file()
    before = (await _card(chat))["text"]
    await _edit(chat, "UPAM")
    assert await _alarms(chat, "omar")
    await _is_card(chat, before)


async def test_operators_and_those_who_are_asked_are_told_who_edited_a_card(chat: Chat) -> None:
    await chat.file()
    quiet = json.dumps({"timezone": "UTC", "quiet_hours": [ALWAYS]})
    await chat.bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = 'ann'", quiet)
    await _edit(chat, "UPAM")
    for name in ("omar", "ann", "ben"):
        [told] = await _alarms(chat, name)
        assert told.startswith("Pam edited the card for ")
        assert "It is restored; the edit changes nothing." in told
    assert await _told(await chat.person("rita")) == []


async def test_an_edit_by_an_account_of_nobody_is_told_with_the_account(chat: Chat) -> None:
    await chat.file()
    await _edit(chat, "U0ALIEN")
    [told] = await _alarms(chat, "omar")
    assert told.startswith("The account U0ALIEN edited the card for ")


async def test_each_edit_is_told_once_however_often_slack_says_it(chat: Chat) -> None:
    await chat.file()
    message = chat.sandbox.store.find(CHANNEL, (await _card(chat))["ts"])
    assert message
    for _ in range(2):
        changed = {"ts": message["ts"], "edited": {"user": "UPAM", "ts": "1700000000.000100"}}
        event = {"type": "message", "subtype": "message_changed", "channel": CHANNEL, "message": changed}
        await chat.happen(event)
    assert len(await _alarms(chat, "omar")) == 1
    await _edit(chat, "UPAM")
    assert len(await _alarms(chat, "omar", 2)) == 2


async def test_what_we_edit_and_what_others_write_is_no_alarm(chat: Chat) -> None:
    await chat.file()
    await _edit(chat, "U0BOT")
    said = {"type": "message", "channel": CHANNEL, "user": "UPAM", "text": "hello", "ts": "1700000000.000200"}
    await chat.happen(said)
    edited = {"ts": "1700000000.000200", "edited": {"user": "UPAM", "ts": "1700000000.000300"}}
    await chat.happen({**said, "subtype": "message_changed", "message": edited})
    await chat.happen({**said, "subtype": "message_changed", "message": {"ts": (await _card(chat))["ts"]}})
    await _edit(chat, "USAM")
    [told] = await _alarms(chat, "omar")
    assert told.startswith("Sam edited")


async def test_a_deleted_card_is_posted_again_as_soon_as_slack_says_so(chat: Chat) -> None:
    await chat.file()
    card = await _card(chat)
    await chat.raw.chat_delete(channel=CHANNEL, ts=card["ts"])
    await chat.happen({"type": "message", "subtype": "message_deleted", "channel": CHANNEL, "deleted_ts": card["ts"]})
    await _is_card(chat, card["text"], but=card["ts"])


async def test_a_card_deleted_just_after_a_look_at_the_home_comes_back_with_the_next_look(chat: Chat) -> None:
    await chat.file()
    ann, before = await chat.person("ann"), chat.faults.calls["chat.getPermalink"]
    await chat.home(ann)
    await chat.faults.called("chat.getPermalink", before + 1)
    card = await _card(chat)
    await chat.raw.chat_delete(channel=CHANNEL, ts=card["ts"])
    chat.bench.clock.move(seconds=6)
    await chat.home(ann)
    await _is_card(chat, card["text"], but=card["ts"])
