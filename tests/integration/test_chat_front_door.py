"""Shortcuts on messages and mentions: how people come who write in channels."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from bot.listeners.forms import ASK_APPROVAL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from sandbox.harness import SandboxUser, messages
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.test_chat_commands import HOSTILE, refusals
from tests.patience import MINUTE


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        await running.bench.meddle(
            "UPDATE actors SET grants = '{\"triggers\": [\"bench.file\"]}' WHERE actor_id = 'rita'"
        )
        yield running


async def chosen(person: SandboxUser, text: str) -> None:
    """Ask for approval of a message that says this, and choose what for."""
    await person.say(CHANNEL, text)
    message = await person.find_card(lambda one: one["user"] == person.user_id)
    assert (await person.message_shortcut(message, ASK_APPROVAL))["ok"]
    await person.find_modal()
    await person.submit({"runbook": "bench-file"})


async def mention(chat: Chat, person: SandboxUser, line: str, thread: str = "") -> str:
    """Mention the app; return all of the answer, which only that person sees, as JSON."""
    told = chat.faults.calls["chat.postEphemeral"]
    await person.say(CHANNEL, f"@Countersign {line}", thread)
    await chat.faults.called("chat.postEphemeral", told + 1)
    answer = await person.find_card(lambda one: bool(one.get("is_ephemeral")))
    return json.dumps(answer, ensure_ascii=False)


async def test_a_form_begins_with_the_message_that_it_is_asked_of(chat: Chat) -> None:
    rita = await chat.person("rita")
    await chosen(rita, f"Please file Halvorsen {HOSTILE} & co")
    modal = await rita.find_modal()
    begun = [block["element"].get("initial_value") for block in modal["blocks"] if block["type"] == "input"]
    assert [one for one in begun if one] == [f"Please file Halvorsen {HOSTILE} & co"]


async def test_a_long_message_is_carried_as_far_as_there_is_room(chat: Chat) -> None:
    rita = await chat.person("rita")
    await chosen(rita, '"\\' * 5000)
    modal = await rita.find_modal()
    (begun,) = [
        block["element"]["initial_value"]
        for block in modal["blocks"]
        if block["type"] == "input" and "initial_value" in block["element"]
    ]
    assert ('"\\' * 5000).startswith(begun)
    assert len(begun) > 500


async def test_who_may_start_nothing_is_told_so_and_a_stranger_is_on_record(chat: Chat) -> None:
    ann = await chat.person("ann")
    await ann.say(CHANNEL, "look")
    message = await ann.find_card(lambda one: one["user"] == ann.user_id)
    assert (await ann.message_shortcut(message, ASK_APPROVAL))["ok"]
    await ann.find_card(lambda one: "nothing you may request by form" in one["text"])
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ann'")
    assert (await ann.message_shortcut(message, ASK_APPROVAL))["ok"]
    await ann.find_card(lambda one: "directory" in one["text"])
    assert [one["code"] for one in await refusals(chat)] == ["identity.unknown"]


async def test_a_mention_is_answered_like_the_command_to_whoever_asked_alone(chat: Chat) -> None:
    approval_id = await chat.file()
    ann, sam = await chat.person("ann"), await chat.person("sam")
    answer = await mention(chat, ann, "pending")
    assert approval_id in answer
    assert not [one for one in messages(await sam.see()) if one.get("is_ephemeral")]
    assert "Commands; only you see the answers" in await mention(chat, sam, "what is this?")


async def test_a_mention_in_a_thread_is_answered_there(chat: Chat) -> None:
    ann = await chat.person("ann")
    await ann.say(CHANNEL, "a question")
    parent = await ann.find_card(lambda one: one["text"] == "a question")
    assert json.loads(await mention(chat, ann, "mine", parent["ts"]))["thread_ts"] == parent["ts"]


async def test_a_mention_that_wants_a_form_says_where_forms_open(chat: Chat) -> None:
    assert "/countersign request" in await mention(chat, await chat.person("rita"), "request")


async def test_a_mention_is_acknowledged_while_slacks_api_takes_ten_seconds(chat: Chat) -> None:
    ann = await chat.person("ann")
    chat.faults.hold("users.info")
    async with asyncio.timeout(3):
        assert (await ann.say(CHANNEL, "@Countersign pending"))["ok"]
    chat.faults.lift("users.info")
    assert not (await ann.see())["warnings"]


async def test_a_message_shortcut_is_acknowledged_while_slacks_api_takes_ten_seconds(chat: Chat) -> None:
    rita = await chat.person("rita")
    await rita.say(CHANNEL, "look")
    message = await rita.find_card(lambda one: one["user"] == rita.user_id)
    chat.faults.hold("users.info")
    async with asyncio.timeout(3):
        assert (await rita.message_shortcut(message, ASK_APPROVAL))["ok"]
    chat.faults.lift("users.info")


async def test_a_strangers_mention_is_refused_and_on_record(chat: Chat) -> None:
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ann'")
    assert "directory" in await mention(chat, await chat.person("ann"), "pending")
    assert [one["code"] for one in await refusals(chat)] == ["identity.unknown"]
