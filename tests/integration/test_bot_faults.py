"""When Slack is slow, refuses or is away: clicks are acknowledged in time, and what people are told arrives, once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.views.references import APPROVE, REJECT
from countersign.embedded.opa import OpaChild
from runtime.model.states import ApprovalStatus
from sandbox.delivery import LIFETIME_SECONDS
from sandbox.harness import Faults, HandClock, SandboxUser, messages
from tests.integration.bot_stage import (
    ODD,
    know,
    plain,
    refused,
    staged,
    the_card,
    votes,
    with_users,
    without,
)
from tests.integration.chat_stage import WORKSPACE, Chat, Slack
from tests.integration.seen import whispered, whispers
from tests.patience import MINUTE, until

TRANSPORTS = pytest.mark.parametrize("transport", ["http", "socket"])
BACK = 15.0
"""Seconds within which a lost connection is back."""


@pytest.fixture
async def chat(dsn: str, opa: OpaChild) -> AsyncIterator[Chat]:
    async with staged(dsn, opa) as running:
        yield running


async def is_heard(chat: Chat) -> None:
    """See that a vote counts."""
    ann = await chat.person("ann")
    await plain(chat)
    assert (await ann.click(await the_card(ann), APPROVE))["ok"]
    await votes(chat, 1)


@TRANSPORTS
async def test_a_slow_modal_does_not_cost_the_acknowledgement(dsn: str, opa: OpaChild, transport: str) -> None:
    async with staged(dsn, opa, Slack(transport=transport)) as chat:
        ben = await chat.person("ben")
        await plain(chat)
        chat.faults.hold("views.open")
        assert (await ben.click(await the_card(ben), REJECT))["ok"]
        assert whispers(await ben.see()) == []
        chat.faults.lift("views.open")
        assert (await ben.find_modal())["title"]["text"] == "Reject"


@TRANSPORTS
async def test_a_click_before_slack_said_who_we_are_is_recorded_and_counts_once_it_has(
    dsn: str, opa: OpaChild, transport: str
) -> None:
    faults = Faults()
    faults.hold("auth.test")
    async with staged(dsn, opa, Slack(transport=transport, faults=faults)) as chat:
        ann = await chat.person("ann")
        await plain(chat)
        assert any("auth.test" in trouble for trouble in chat.bot.health())
        assert (await ann.click(await the_card(ann), APPROVE))["ok"]
        await whispered(ann, "counts as soon as Slack confirms who you are")
        faults.lift("auth.test")
        assert [vote["person"] for vote in await votes(chat, 1)] == ["ann"]
        assert chat.bot.health() == []


async def test_slack_is_asked_who_we_are_at_the_start_and_not_again_by_a_click(chat: Chat) -> None:
    await chat.faults.called("auth.test")
    await until(lambda: chat.bot.health() == [])
    await is_heard(chat)
    assert chat.faults.calls["auth.test"] == 1


async def test_a_click_that_is_not_taken_is_answered_before_the_person_is_told(chat: Chat) -> None:
    ann = await chat.person("ann")
    await plain(chat)
    chat.faults.hold("chat.postEphemeral")
    async with without(chat, "notifications"):
        done = await ann.click(await the_card(ann), APPROVE)
        assert (done["ok"], done["ack"]["status"]) == (False, 503)
        chat.faults.lift("chat.postEphemeral")
        await whispered(ann, "may not have been recorded")


async def test_an_answer_that_the_channel_does_not_take_goes_to_the_direct_conversation(chat: Chat) -> None:
    guest = await chat.person("guest")
    await plain(chat)
    for told, code in enumerate(("user_not_in_channel", "not_in_channel", "channel_not_found", "is_archived"), 1):
        chat.faults.refuse("chat.postEphemeral", code)
        await guest.click(await the_card(guest), APPROVE)
        await told_in_private(guest, told)
    assert whispers(await guest.see()) == []


async def told_in_private(guest: SandboxUser, times: int) -> None:
    """Wait until a guest was told so often in the direct conversation that they cannot decide."""

    def look(state: dict[str, Any]) -> bool:
        told = (one for one in messages(state) if one["channel"].startswith("D"))
        return sum("Guests cannot decide" in one["text"] for one in told) == times

    await guest.wait_for(look)


async def test_deliveries_of_one_refused_click_are_answered_once(chat: Chat) -> None:
    guest, rita = await chat.person("guest"), await chat.person("rita")
    await plain(chat)
    await guest.click(await the_card(guest), APPROVE, deliveries=5)
    await refused(chat)
    await rita.click(await the_card(rita), APPROVE)
    await whispered(rita, "You requested this")
    assert len(whispers(await guest.see())) == 1
    assert chat.faults.calls["chat.postEphemeral"] == 2


async def test_a_member_of_a_sister_workspace_decides_and_another_organization_does_not(
    dsn: str, opa: OpaChild
) -> None:
    grid = {**WORKSPACE["team"], "enterprise_id": "E0ACME"}
    sister = {"id": "USISTER", "name": "sina", "real_name": "Sina", "team_id": "T0SISTER", "enterprise_id": "E0ACME"}
    rival = {"id": "URIVAL", "name": "rolf", "real_name": "Rolf", "team_id": "T0RIVAL", "enterprise_id": "E0RIVAL"}
    slack = Slack(workspace={"team": grid, **with_users(*ODD, sister, rival)})
    async with staged(dsn, opa, slack) as chat:
        await know(chat, {"USISTER": ["cat"]}, "T0SISTER")
        await know(chat, {"URIVAL": ["ben"]}, "T0RIVAL")
        sina, rolf, ann = [await chat.person(name) for name in ("sister", "rival", "ann")]
        approval = await plain(chat)
        await rolf.click(await the_card(rolf), APPROVE)
        await whispered(rolf, "another workspace")
        assert (await sina.click(await the_card(sina), APPROVE))["ok"]
        assert [vote["person"] for vote in await votes(chat, 1)] == ["cat"]
        await ann.click(await the_card(ann), APPROVE)
        await votes(chat, 2)
        assert await chat.decided(approval) is ApprovalStatus.APPROVED
        assert "Nothing is waiting for you" in str(await chat.home(sina))


async def test_a_lost_handshake_is_made_up_with_a_new_address(dsn: str, opa: OpaChild) -> None:
    timers = HandClock()
    async with staged(dsn, opa, Slack(transport="socket", sleep=timers.sleep)) as chat, asyncio.timeout(MINUTE):
        await until(lambda: chat.bot.health() == [])
        await timers.armed(LIFETIME_SECONDS)
        chat.faults.lose("link")  # the ticket is used, and nobody is connected by it
        timers.advance(LIFETIME_SECONDS)
        await chat.faults.called("link", 2)
        await until(lambda: not chat.bot.is_connected())
        assert any("Socket Mode" in trouble for trouble in chat.bot.health())
        chat.faults.lift("link")
        async with asyncio.timeout(BACK):
            await until(chat.bot.is_connected)
        await is_heard(chat)


async def test_a_refused_app_token_is_tried_again_and_is_not_ready_meanwhile(dsn: str, opa: OpaChild) -> None:
    faults = Faults()
    faults.refuse("apps.connections.open", "invalid_auth")
    slack = Slack(transport="socket", faults=faults, is_heard=False)
    async with staged(dsn, opa, slack) as chat, asyncio.timeout(MINUTE):
        await faults.called("apps.connections.open")
        assert not chat.bot.is_connected()
        assert any("Socket Mode" in trouble for trouble in chat.bot.health())
        faults.lift("apps.connections.open")
        async with asyncio.timeout(BACK):
            await until(chat.bot.is_connected)
        await is_heard(chat)


async def test_a_revoked_bot_token_is_not_healthy(dsn: str, opa: OpaChild) -> None:
    faults = Faults()
    faults.refuse("auth.test", "token_revoked")
    async with staged(dsn, opa, Slack(faults=faults)) as chat:
        await until(lambda: chat.bot.health() == ["auth.test: token_revoked"])
