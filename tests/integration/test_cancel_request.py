"""*Cancel this request* in the menu of a card, and beside a run: put to policy, with a reason, and on record."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.views.more_menu import ENTRIES
from bot.views.references import CANCEL, MORE
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.states import ApprovalStatus
from sandbox.harness import SandboxUser
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.more_stage import choose, entry
from tests.integration.seen import whispered
from tests.patience import MINUTE


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


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
