"""Slack's record of people: strangers cost no question, officers one a minute, and what Slack limits is waited for."""

import asyncio
from typing import Any

import pytest

from bot.slack.profiles import FRESH, Profiles
from bot.views.references import APPROVE, REJECT
from sandbox.harness import Faults, SandboxUser
from sandbox.slack_errors import Limits
from tests.integration.bot_stage import CHANNEL, WORKSPACE, Stage, ask, staged, the_card, until, whispered, whispers
from tests.patience import MINUTE

STRANGERS = [
    {"id": f"U0STRANGER{number}", "name": f"stranger{number}", "real_name": f"Stranger {number}"}
    for number in range(25)
]
TRANSPORTS = pytest.mark.parametrize("transport", ["http", "socket"])


def _crowd() -> dict[str, Any]:
    users = [*WORKSPACE["users"], *STRANGERS]
    return {"users": users, "channels": [{**WORKSPACE["channels"][0], "members": [one["id"] for one in users]}]}


async def _pester(stranger: SandboxUser, times: int) -> None:
    for _ in range(times):
        await stranger.command(CHANNEL, "/countersign help")


async def _votes(stage: Stage, count: int) -> list[str]:
    await until(lambda: len(stage.desk.approvals["apr-1"].votes) >= count)
    return sorted(vote.person_name for vote in stage.desk.approvals["apr-1"].votes)


async def test_votes_are_counted_while_strangers_give_five_hundred_commands_in_a_minute() -> None:
    """The stage's clock stands still, so that Slack allows what it allows within one minute, and no more."""
    async with staged(limits=Limits(channel_burst=1000), **_crowd()) as stage:
        strangers = [await stage.person(str(one["id"])) for one in STRANGERS]
        anna, boris = await stage.person("U0ANNA"), await stage.person("U0BORIS")
        await stage.post(ask(quorum=3))
        pestering = asyncio.gather(*(_pester(one, 20) for one in strangers))
        assert (await anna.click(await the_card(anna, stage), APPROVE))["ok"]
        await pestering
        await stage.refresh()
        assert (await boris.click(await the_card(boris, stage), APPROVE))["ok"]
        assert await _votes(stage, 2) == ["Anna Berg", "Boris Lind"]
        assert not [text for one in (anna, boris) for text in whispers(await one.see()) if "confirm" in text]
        assert stage.faults.calls["users.info"] == 2
        assert len(stage.front.refusals) >= 250, "strangers are refused on record"


async def test_a_person_is_asked_about_once_for_many_acts() -> None:
    async with staged() as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        await anna.click(await the_card(anna, stage), APPROVE)
        await stage.desk.settled()
        await asyncio.gather(*(anna.command(CHANNEL, "/countersign pending") for _ in range(5)))
        await anna.open_home()
        await anna.wait_for(lambda state: state["home"])
        assert stage.faults.calls["users.info"] == 1


async def test_what_slack_says_has_changed_is_asked_anew() -> None:
    async with staged() as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        await anna.command(CHANNEL, "/countersign pending")
        await anna.change_member("U0ANNA", "deactivate")
        async with asyncio.timeout(MINUTE):
            while not stage.front.refusals:  # Slack's event may still be on its way
                await anna.command(CHANNEL, "/countersign pending")
        assert (await anna.click(await the_card(anna, stage), APPROVE))["ok"]
        await stage.desk.settled()
        assert [click.refusal and click.refusal.code for click in stage.desk.inbox.values()] == ["identity.deactivated"]


@TRANSPORTS
@pytest.mark.parametrize("button", [APPROVE, REJECT])
async def test_a_vote_that_slack_limits_is_recorded_at_once_and_counts_without_another_click(
    transport: str, button: str
) -> None:
    async with staged(transport=transport) as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        stage.faults.throttle("users.info", 2)
        done = await anna.click(await the_card(anna, stage), button)
        if button == REJECT:
            await anna.find_modal()
            done = await anna.submit({"reason": "the shares do not add up"})
        assert done["ok"]
        await whispered(anna, "Your click is recorded. It counts as soon as Slack confirms who you are")
        assert stage.desk.approvals["apr-1"].votes == ()
        stage.faults.lift("users.info")
        assert await _votes(stage, 1) == ["Anna Berg"]
        assert stage.bot.counts()["users.info limited"] >= 1


async def test_who_is_found_a_guest_after_a_limit_is_refused_and_told() -> None:
    async with staged() as stage:
        gil = await stage.person("U0GUEST")
        await stage.post(ask())
        stage.faults.throttle("users.info", 2)
        await gil.click(await the_card(gil, stage), APPROVE)
        await until(lambda: len(stage.desk.inbox) == 1)
        stage.faults.lift("users.info")
        await stage.desk.settled()
        [outcome] = stage.desk.outcomes.values()
        assert outcome.refusal
        assert outcome.refusal.code == "identity.guest"
        assert stage.desk.approvals["apr-1"].votes == ()
        await gil.find_card(lambda one: "Guests cannot decide" in one["text"] and one["channel"].startswith("D"))


async def test_a_click_that_another_process_left_unconfirmed_is_counted() -> None:
    faults = Faults()
    faults.break_down("users.info")
    async with staged(faults=faults) as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        await anna.click(await the_card(anna, stage), APPROVE)
        await whispered(anna, "is recorded")
        faults.lift("users.info")
        assert await _votes(stage, 1) == ["Anna Berg"]


async def test_many_who_want_one_profile_share_one_question() -> None:
    async with staged() as stage:
        profiles = Profiles(stage.raw, lambda: 0.0)
        stage.faults.hold("users.info")
        asking = asyncio.gather(*(profiles.of("T0HOST", "U0ANNA") for _ in range(50)))
        await stage.faults.called("users.info")
        stage.faults.lift("users.info")
        assert {profile["id"] for profile in await asking} == {"U0ANNA"}
        assert stage.faults.calls["users.info"] == 1


async def test_a_profile_is_good_for_a_minute_and_an_answer_under_way_is_not_kept_over_a_change() -> None:
    now = [100.0]
    async with staged() as stage:
        profiles = Profiles(stage.raw, lambda: now[0])
        calls = stage.faults.calls
        for moment, asked in ((100.0, 1), (100.0 + FRESH - 0.1, 1), (100.0 + FRESH, 2)):
            now[0] = moment
            await profiles.of("T0HOST", "U0ANNA")
            assert calls["users.info"] == asked
        profiles.forget("U0ANNA")
        stage.faults.hold("users.info")
        under_way = asyncio.ensure_future(profiles.of("T0HOST", "U0ANNA"))
        await stage.faults.called("users.info", 3)
        profiles.forget("U0ANNA")
        stage.faults.lift("users.info")
        assert (await under_way)["id"] == "U0ANNA"
        await profiles.of("T0HOST", "U0ANNA")
        assert calls["users.info"] == 4


async def test_slack_is_not_asked_before_its_retry_after_is_over() -> None:
    async with staged() as stage:
        stage.faults.throttle("users.info", 1)
        loop = asyncio.get_running_loop()
        profiles = Profiles(stage.raw, loop.time)
        first = asyncio.ensure_future(profiles.of("T0HOST", "U0ANNA"))
        await stage.faults.called("users.info")
        limited_at = loop.time()
        await until(lambda: profiles.limited.count == 1)
        stage.faults.lift("users.info")
        others = [profiles.of("T0HOST", user) for user in ("U0BORIS", "U0CARLA")]
        await asyncio.gather(first, *others)
        assert loop.time() - limited_at >= 0.9
        assert stage.faults.calls["users.info"] == 4


async def test_a_user_whom_slack_does_not_know_is_refused_at_once() -> None:
    async with staged() as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask())
        stage.faults.refuse("users.info", "user_not_found")
        await anna.click(await the_card(anna, stage), APPROVE)
        await whispered(anna, "did not confirm who you are")
        await stage.desk.settled()
        [outcome] = stage.desk.outcomes.values()
        assert outcome.refusal
        assert outcome.refusal.code == "identity.lookup_failed"
