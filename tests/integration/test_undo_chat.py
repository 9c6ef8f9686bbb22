"""*Undo* on the card of what was done: a list first, a reason, and a run of its own by whoever asked."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.views.references import APPROVE, UNDO
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from sandbox.harness import SandboxUser
from tests.bench import TEAM
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.seen import whispers
from tests.integration.undo_stage import PACK, Shelves, shelves
from tests.patience import MINUTE

__all__ = ["shelves"]


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, shelves: Shelves) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, shelves, PACK) as running:
        yield running


def _buttons(card: dict[str, Any]) -> list[str]:
    return [one["action_id"] for block in card["blocks"] if block["type"] == "actions" for one in block["elements"]]


async def _opened(chat: Chat) -> dict[str, Any]:
    """Have a place opened under two signatures; return its card as it stands then."""
    await chat.bench.start("undo.opening", {})
    await chat.bench.settle()
    approval_id = await chat.bench.approval_id()
    for name in ("ann", "ben"):
        await chat.bench.click(name, approval_id)
    await chat.bench.settle()
    (card,) = await chat.cards()
    return {**card, "channel": CHANNEL}


async def _asked(chat: Chat, name: str, card: dict[str, Any]) -> tuple[SandboxUser, str]:
    """Click *Undo*; return the person, and all that their modal shows."""
    person = await chat.person(name)
    await person.click(card, UNDO)
    modal = await person.find_modal(timeout=MINUTE)
    return person, str(modal)


async def test_undo_stands_on_the_card_of_what_was_done_and_not_before(chat: Chat) -> None:
    await chat.bench.start("undo.opening", {})
    await chat.bench.settle()
    (card,) = await chat.cards()
    assert APPROVE in _buttons(card)
    assert UNDO not in _buttons(card)
    for name in ("ann", "ben"):
        await chat.bench.click(name, await chat.bench.approval_id())
    await chat.bench.settle()
    (card,) = await chat.cards()
    assert UNDO in _buttons(card)
    assert APPROVE not in _buttons(card)


async def test_whoever_clicks_undo_sees_what_it_means_and_asks_for_it(chat: Chat, shelves: Shelves) -> None:
    card = await _opened(chat)
    chat.bench.clock.move(seconds=1)
    ivy, modal = await _asked(chat, "ivy", card)
    assert "file report (register) on register:door, by take" in modal
    assert shelves.take.calls == []
    assert (await ivy.submit({"reason": "the wrong door"}))["ok"]
    told = str(await ivy.wait_for(whispers))
    await chat.bench.settle()
    (undo,) = await chat.bench.rows("SELECT run_id, status, requested_by FROM runs ORDER BY created_at DESC LIMIT 1")
    assert (undo["status"], undo["requested_by"]) == ("succeeded", "ivy")
    assert f"Run {undo['run_id']} is undoing it." in told
    assert [call.params for call in shelves.take.calls] == [{"place": "door", "entry": "opened", "was": "closed"}]
    _, after = await _asked(chat, "rita", card)
    assert "Nothing here can be undone." in after
    assert f"undone by {undo['run_id']}" in after


async def test_a_stranger_who_wants_something_undone_is_told_so_and_is_on_record_once(
    chat: Chat, shelves: Shelves
) -> None:
    card = await _opened(chat)
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ivy' RETURNING 1")
    ivy = await chat.person("ivy")
    for _ in range(2):
        await ivy.click(card, UNDO)
        await ivy.wait_for(whispers)
    rows = await chat.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf->>'event' = 'notification.refused'")
    (leaf,) = [row["leaf"] for row in rows]
    assert leaf["actor"] == {"id": f"slack:{TEAM}:UIVY", "kind": "person"}
    assert leaf["correlation"]["step"] == "door"
    assert (leaf["data"]["code"], leaf["data"]["act"]) == ("identity.unknown", "undo")
    assert await chat.bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []
    assert shelves.take.calls == []


async def test_who_left_the_directory_before_saying_why_has_nothing_undone_and_is_on_record(
    chat: Chat, shelves: Shelves
) -> None:
    ivy, _ = await _asked(chat, "ivy", await _opened(chat))
    await chat.bench.meddle("DELETE FROM slack_accounts WHERE actor_id = 'ivy' RETURNING 1")
    assert (await ivy.submit({"reason": "the wrong door"}))["errors"]
    refused = "SELECT 1 FROM audit_leaves WHERE leaf->>'event' = 'notification.refused'"
    assert len(await chat.bench.rows(refused)) == 1
    assert await chat.bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []


async def test_an_undo_needs_a_reason(chat: Chat) -> None:
    ivy, _ = await _asked(chat, "ivy", await _opened(chat))
    refused = await ivy.submit({"reason": "\u200b\u200b\u200b"})
    assert "visible" in str(refused["errors"])
    assert await chat.bench.rows("SELECT 1 FROM notifications WHERE kind = 'undo'") == []


async def test_what_two_people_want_undone_is_undone_once(chat: Chat, shelves: Shelves) -> None:
    card = await _opened(chat)
    ivy, _ = await _asked(chat, "ivy", card)
    ben, _ = await _asked(chat, "ben", card)
    await ivy.submit({"reason": "the wrong door"})
    await ivy.wait_for(whispers)
    await ben.submit({"reason": "the wrong door, too"})
    assert "Not undone: nothing of it can be undone; door: run_" in str(await ben.wait_for(whispers))
    await chat.bench.settle()
    assert len(shelves.take.calls) == 1
