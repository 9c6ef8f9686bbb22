"""When Slack is slow, refuses or is away: clicks are acknowledged in time, and what people are told arrives, once."""

import asyncio
from typing import Any

import pytest

from bot.views.references import APPROVE, REJECT
from runtime.model.states import ApprovalStatus
from sandbox.delivery import LIFETIME_SECONDS
from sandbox.harness import Faults, SandboxUser, messages
from tests.integration.bot_stage import CHANNEL, WORKSPACE, Stage, ask, staged, the_card, until, whispered, whispers
from tests.patience import MINUTE

TRANSPORTS = pytest.mark.parametrize("transport", ["http", "socket"])
BACK = 15.0
"""Seconds within which a lost connection is back."""


@TRANSPORTS
async def test_a_slow_modal_does_not_cost_the_acknowledgement(transport: str) -> None:
    async with staged(transport=transport) as stage:
        boris = await stage.person("U0BORIS")
        await stage.post(ask())
        stage.faults.hold("views.open")
        assert (await boris.click(await the_card(boris, stage), REJECT))["ok"]
        assert whispers(await boris.see()) == []
        stage.faults.lift("views.open")
        assert (await boris.find_modal())["title"]["text"] == "Reject"


@TRANSPORTS
async def test_a_click_before_slack_said_who_we_are_is_recorded_and_counts_once_it_has(transport: str) -> None:
    faults = Faults()
    faults.hold("auth.test")
    async with staged(transport=transport, faults=faults) as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        assert any("auth.test" in trouble for trouble in stage.bot.health())
        assert (await anna.click(await the_card(anna, stage), APPROVE))["ok"]
        await whispered(anna, "counts as soon as Slack confirms who you are")
        faults.lift("auth.test")
        await stage.desk.settled()
        assert [vote.person_name for vote in stage.desk.approvals["apr-1"].votes] == ["Anna Berg"]
        assert stage.bot.health() == []


async def test_slack_is_asked_who_we_are_at_the_start_and_not_again_by_a_click() -> None:
    async with staged() as stage:
        await stage.faults.called("auth.test")
        await until(lambda: stage.bot.health() == [])
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        await anna.click(await the_card(anna, stage), APPROVE)
        await stage.desk.settled()
        assert stage.faults.calls["auth.test"] == 1


async def test_a_click_that_is_not_taken_is_answered_before_the_person_is_told() -> None:
    async with staged() as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        stage.desk.down.add("record")
        stage.faults.hold("chat.postEphemeral")
        done = await anna.click(await the_card(anna, stage), APPROVE)
        assert (done["ok"], done["ack"]["status"]) == (False, 503)
        stage.faults.lift("chat.postEphemeral")
        await whispered(anna, "may not have been recorded")


@TRANSPORTS
@pytest.mark.parametrize("code", ["user_not_in_channel", "not_in_channel", "channel_not_found", "is_archived"])
async def test_an_answer_that_the_channel_does_not_take_goes_to_the_direct_conversation(
    transport: str, code: str
) -> None:
    async with staged(transport=transport) as stage:
        guest = await stage.person("U0GUEST")
        await stage.post(ask())
        stage.faults.refuse("chat.postEphemeral", code)
        await guest.click(await the_card(guest, stage), APPROVE)
        told = await guest.find_card(lambda message: "Guests cannot decide" in message["text"])
        assert told["channel"].startswith("D")


@TRANSPORTS
async def test_deliveries_of_one_refused_click_are_answered_once(transport: str) -> None:
    async with staged(transport=transport) as stage:
        guest, carla = await stage.person("U0GUEST"), await stage.person("U0CARLA")
        await stage.post(ask())
        await guest.click(await the_card(guest, stage), APPROVE, deliveries=5)
        await until(lambda: stage.desk.applications >= 1)  # deliveries side by side share one answer
        await carla.click(await the_card(carla, stage), APPROVE)
        await whispered(carla, "You requested this")
        assert len(whispers(await guest.see())) == 1
        assert stage.faults.calls["chat.postEphemeral"] == 2


async def test_a_user_whom_slack_does_not_call_a_guest_is_not_called_one() -> None:
    users = [*WORKSPACE["users"], {"id": "U0ODD", "name": "odd", "real_name": "Olga Dahl", "is_restricted": None}]
    async with staged(users=users, channels=_everybody(users)) as stage:
        olga = await stage.person("U0ODD")
        await stage.post(ask())
        await olga.click(await the_card(olga, stage), APPROVE)
        assert "did not say whether you are a full member" in await whispered(olga, "full member")
        assert [click.refusal and click.refusal.code for click in stage.desk.inbox.values()] == ["identity.unclear"]


COLLEAGUES: list[dict[str, Any]] = [
    *WORKSPACE["users"],
    {"id": "U0SISTER", "name": "sina", "real_name": "Sina", "team_id": "T0SISTER", "enterprise_id": "E0MERIDIAN"},
    {"id": "U0RIVAL", "name": "rolf", "real_name": "Rolf", "team_id": "T0RIVAL", "enterprise_id": "E0RIVAL"},
]
GRID = {**WORKSPACE["team"], "enterprise_id": "E0MERIDIAN"}


def _everybody(users: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**WORKSPACE["channels"][0], "members": [user["id"] for user in users]}]


@TRANSPORTS
async def test_a_member_of_a_sister_workspace_decides_and_another_organization_does_not(transport: str) -> None:
    async with staged(transport=transport, team=GRID, users=COLLEAGUES, channels=_everybody(COLLEAGUES)) as stage:
        sina, rolf, anna = [await stage.person(user) for user in ("U0SISTER", "U0RIVAL", "U0ANNA")]
        await stage.post(ask())
        await rolf.click(await the_card(rolf, stage), APPROVE)
        await whispered(rolf, "another workspace")
        assert (await sina.click(await the_card(sina, stage), APPROVE))["ok"]
        await stage.desk.settled(2)
        assert [vote.person_name for vote in stage.desk.approvals["apr-1"].votes] == ["Sina Lund"]
        await stage.refresh()
        await anna.click(await the_card(anna, stage), APPROVE)
        await stage.desk.settled(3)
        assert stage.desk.approvals["apr-1"].status is ApprovalStatus.APPROVED
        await sina.open_home()
        assert "Nothing is waiting for you" in str(await sina.wait_for(lambda state: state["home"]))


async def _is_heard(stage: Stage) -> None:
    anna: SandboxUser = await stage.person("U0ANNA")
    await stage.post(ask())
    assert (await anna.click(await the_card(anna, stage), APPROVE))["ok"]
    await stage.desk.settled()


async def test_a_lost_handshake_is_made_up_with_a_new_address() -> None:
    async with staged(transport="socket") as stage, asyncio.timeout(MINUTE):
        await until(lambda: stage.bot.health() == [])
        await stage.clock.armed(LIFETIME_SECONDS)
        stage.faults.lose("link")  # the ticket is used, and nobody is connected by it
        stage.clock.advance(LIFETIME_SECONDS)
        await stage.faults.called("link", 2)
        await until(lambda: not stage.bot.is_connected())
        assert any("Socket Mode" in trouble for trouble in stage.bot.health())
        stage.faults.lift("link")
        async with asyncio.timeout(BACK):
            await until(stage.bot.is_connected)
        await _is_heard(stage)


async def test_a_refused_app_token_is_tried_again_and_is_not_ready_meanwhile() -> None:
    faults = Faults()
    faults.refuse("apps.connections.open", "invalid_auth")
    async with staged(transport="socket", faults=faults, is_heard=False) as stage, asyncio.timeout(MINUTE):
        await faults.called("apps.connections.open")
        assert not stage.bot.is_connected()
        assert any("Socket Mode" in trouble for trouble in stage.bot.health())
        faults.lift("apps.connections.open")
        async with asyncio.timeout(BACK):
            await until(stage.bot.is_connected)
        await _is_heard(stage)


async def test_a_revoked_bot_token_is_not_healthy() -> None:
    faults = Faults()
    faults.refuse("auth.test", "token_revoked")
    async with staged(faults=faults) as stage:
        await until(lambda: stage.bot.health() == ["auth.test: token_revoked"])
        assert not messages(await (await stage.person("U0ANNA")).see())


@TRANSPORTS
async def test_a_guest_and_a_stranger_who_give_a_command_are_refused_in_private_and_on_record(transport: str) -> None:
    async with staged(transport=transport) as stage:
        for user, words, code in (
            ("U0GUEST", "Guests cannot decide", "identity.guest"),
            ("U0NEW", "directory has no person", "identity.unknown"),
            ("U0TWIN", "two people", "identity.ambiguous"),
        ):
            person = await stage.person(user)
            assert (await person.command(CHANNEL, "/countersign mine"))["ok"]
            await whispered(person, words)
            account, command, refused = stage.front.refusals[-1]
            assert (account.user, command, refused) == (user, "mine", code)


@TRANSPORTS
async def test_a_command_is_acknowledged_with_its_answer_while_slack_takes_long(transport: str) -> None:
    async with staged(transport=transport) as stage:
        boris = await stage.person("U0BORIS")
        await stage.post(ask())
        for method in ("users.info", "chat.postEphemeral", "chat.postMessage", "views.open"):
            stage.faults.hold(method)
        assert (await boris.command(CHANNEL, "/countersign pending"))["ok"]
        await whispered(boris, "did not confirm who you are")
        stage.faults.lift("users.info")
        assert (await boris.command(CHANNEL, "/countersign pending"))["ok"]
        await whispered(boris, "1 request for you")
        stage.faults.lift("chat.postEphemeral", "chat.postMessage", "views.open")
