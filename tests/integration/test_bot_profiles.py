"""Slack's record of people: strangers cost no question, officers one a minute, and what Slack limits is waited for."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.profiles import FRESH, Profiles
from bot.views.references import APPROVE, REJECT
from countersign.embedded.opa import OpaChild
from sandbox.harness import SandboxUser
from sandbox.slack_errors import Limits
from tests.bench import TEAM
from tests.integration.bot_stage import clicks, only_slack, plain, refused, staged, the_card, votes, with_users
from tests.integration.chat_stage import CHANNEL, Chat, Slack
from tests.integration.seen import whispered, whispers
from tests.integration.test_chat_commands import refusals
from tests.patience import until

STRANGERS = [
    {"id": f"USTRANGER{number}", "name": f"stranger{number}", "real_name": f"Stranger {number}"} for number in range(15)
]
TIMES = 8
"""How often each of them gives a command: together more often than Slack may be asked about people in a minute."""


@pytest.fixture
async def chat(dsn: str, opa: OpaChild) -> AsyncIterator[Chat]:
    async with staged(dsn, opa) as running:
        yield running


async def _pester(stranger: SandboxUser) -> None:
    for _ in range(TIMES):
        await stranger.command(CHANNEL, "/countersign help")


async def test_votes_are_counted_while_strangers_give_over_a_hundred_commands_in_a_minute(
    dsn: str, opa: OpaChild
) -> None:
    """The stage's clock stands still, so that Slack allows what it allows within one minute, and no more."""
    slack = Slack(limits=Limits(channel_burst=1000), workspace=with_users(*STRANGERS))
    async with staged(dsn, opa, slack) as chat:
        people = [await chat.person(str(one["id"])[1:]) for one in STRANGERS]
        ann, ben = await chat.person("ann"), await chat.person("ben")
        await plain(chat)
        pestering = asyncio.gather(*(_pester(one) for one in people))
        for person in (ann, ben):
            assert (await person.click(await the_card(person), APPROVE))["ok"]
        await pestering
        assert [vote["person"] for vote in await votes(chat, 2)] == ["ann", "ben"]
        assert not [text for one in (ann, ben) for text in whispers(await one.see()) if "confirm" in text]
        assert chat.faults.calls["users.info"] == 2
        assert {one["user"] for one in await refusals(chat)} == {one["id"] for one in STRANGERS}


async def test_a_person_is_asked_about_once_for_many_acts(chat: Chat) -> None:
    ann = await chat.person("ann")
    await plain(chat)
    await ann.click(await the_card(ann), APPROVE)
    await votes(chat, 1)
    await asyncio.gather(*(ann.command(CHANNEL, "/countersign pending") for _ in range(5)))
    await chat.home(ann)
    assert chat.faults.calls["users.info"] == 1


async def test_what_slack_says_has_changed_is_asked_anew(chat: Chat) -> None:
    ann = await chat.person("ann")
    await plain(chat)
    await ann.command(CHANNEL, "/countersign pending")
    await ann.change_member("UANN", "deactivate")

    async def is_refused() -> bool:  # Slack's event may still be on its way
        await ann.command(CHANNEL, "/countersign pending")
        return bool(await refusals(chat))

    await until(is_refused)
    assert (await ann.click(await the_card(ann), APPROVE))["ok"]
    assert [one["refusal"] for one in await refused(chat)] == ["identity.deactivated"]


@pytest.mark.parametrize(("transport", "button"), [("http", APPROVE), ("socket", REJECT)])
async def test_a_vote_that_slack_limits_is_recorded_at_once_and_counts_without_another_click(
    dsn: str, opa: OpaChild, transport: str, button: str
) -> None:
    async with staged(dsn, opa, Slack(transport=transport)) as chat:
        ann = await chat.person("ann")
        await plain(chat)
        chat.faults.throttle("users.info", 2)
        done = await ann.click(await the_card(ann), button)
        if button == REJECT:
            await ann.find_modal()
            done = await ann.submit({"reason": "the shares do not add up"})
        assert done["ok"]
        await whispered(ann, "Your click is recorded. It counts as soon as Slack confirms who you are")
        assert await chat.bench.rows("SELECT 1 FROM votes") == []
        chat.faults.lift("users.info")
        assert [vote["person"] for vote in await votes(chat, 1)] == ["ann"]
        assert chat.bot.counts()["users.info limited"] >= 1


async def test_who_is_found_a_guest_after_a_limit_is_refused_and_told(chat: Chat) -> None:
    gil = await chat.person("guest")
    await plain(chat)
    chat.faults.throttle("users.info", 2)
    await gil.click(await the_card(gil), APPROVE)
    await until(lambda: _is_recorded(chat))
    chat.faults.lift("users.info")
    assert [one["refusal"] for one in await refused(chat)] == ["identity.guest"]
    assert await chat.bench.rows("SELECT 1 FROM votes") == []
    await gil.find_card(lambda one: "Guests cannot decide" in one["text"] and one["channel"].startswith("D"))


async def _is_recorded(chat: Chat) -> bool:
    return len(await clicks(chat)) == 1


async def test_many_who_want_one_profile_share_one_question() -> None:
    async with only_slack() as (client, faults):
        profiles = Profiles(client, lambda: 0.0)
        faults.hold("users.info")
        asking = asyncio.gather(*(profiles.of(TEAM, "UANN") for _ in range(50)))
        await faults.called("users.info")
        faults.lift("users.info")
        assert {profile["id"] for profile in await asking} == {"UANN"}
        assert faults.calls["users.info"] == 1


async def test_a_profile_is_good_for_a_minute_and_an_answer_under_way_is_not_kept_over_a_change() -> None:
    now = [100.0]
    async with only_slack() as (client, faults):
        profiles = Profiles(client, lambda: now[0])
        for moment, asked in ((100.0, 1), (100.0 + FRESH - 0.1, 1), (100.0 + FRESH, 2)):
            now[0] = moment
            await profiles.of(TEAM, "UANN")
            assert faults.calls["users.info"] == asked
        profiles.forget("UANN")
        faults.hold("users.info")
        under_way = asyncio.ensure_future(profiles.of(TEAM, "UANN"))
        await faults.called("users.info", 3)
        profiles.forget("UANN")
        faults.lift("users.info")
        assert (await under_way)["id"] == "UANN"
        await profiles.of(TEAM, "UANN")
        assert faults.calls["users.info"] == 4


async def test_slack_is_not_asked_before_its_retry_after_is_over() -> None:
    async with only_slack() as (client, faults):
        faults.throttle("users.info", 1)
        loop = asyncio.get_running_loop()
        profiles = Profiles(client, loop.time)
        first = asyncio.ensure_future(profiles.of(TEAM, "UANN"))
        await faults.called("users.info")
        limited_at = loop.time()
        await until(lambda: profiles.limited.count == 1)
        faults.lift("users.info")
        others = [profiles.of(TEAM, user) for user in ("UBEN", "UCAT")]
        await asyncio.gather(first, *others)
        assert loop.time() - limited_at >= 0.9
        assert faults.calls["users.info"] == 4


async def test_a_user_whom_slack_does_not_know_is_refused_at_once(chat: Chat) -> None:
    ann = await chat.person("ann")
    await plain(chat)
    chat.faults.refuse("users.info", "user_not_found")
    await ann.click(await the_card(ann), APPROVE)
    await whispered(ann, "did not confirm who you are")
    assert [one["refusal"] for one in await refused(chat)] == ["identity.lookup_failed"]
