"""Notifications: bounded per hour, and alarms at any hour.

Nobody is told more than so often in an hour: what is more stands in one message, which grows.

Alarms go out at once, new and at any hour, by the real sender; a question is a message; reminders wait.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import OutcomeUnknownError
from runtime.model.delivery import Notice, SendAlone, SendGathered
from runtime.model.routing import Destination, Rule
from runtime.model.votes import CardAct
from sandbox.harness import SandboxUser
from tests.bench import ROUTING, TENANT, Bench
from tests.integration.acts_stage import say
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.policies_stage import break_glass, glass_policy
from tests.patience import MINUTE

HOURLY = {"first": 3600, "factor": 1, "at_most": 3}
UNTIL_ELEVEN = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "08:00", "until": "11:00"}
TIMES_UP = {"kind": "plain", "text": "Something has ended"}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _says(bench: Bench, remind: dict[str, Any], **notices: dict[str, Any]) -> None:
    await bench.meddle("UPDATE directories SET remind = %s", json.dumps(remind))
    for person, said in notices.items():
        await bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", json.dumps(said), person)


async def _direct(chat: Chat, person: str) -> list[dict[str, Any]]:
    """Return what a person was told directly, the oldest first.

    What is told at one moment is posted side by side, in no order: of that, what gathers the rest comes last.
    """
    opened = await chat.raw.conversations_open(users=f"U{person.upper()}")
    found = await chat.raw.conversations_history(channel=opened["channel"]["id"], limit=200)
    return sorted(found["messages"], key=lambda one: (one["ts"].split(".")[0], " more " in one["text"], one["ts"]))


async def _titles(chat: Chat, person: str) -> list[str]:
    return [message["text"].split(":")[0] for message in await _direct(chat, person)]


async def _filings(chat: Chat, *refs: str) -> list[str]:
    return [await chat.file(ref) for ref in refs]


async def test_what_is_more_than_so_much_an_hour_is_one_message_with_a_list_and_the_way_home(chat: Chat) -> None:
    await _says(chat.bench, HOURLY, ann={"per_hour": 2})
    await _filings(chat, "1", "2", "3", "4", "5")
    await chat.bench.later(hours=1)
    assert await _titles(chat, "ann") == ["Still open", "Still open", "3 more requests for you"]
    assert await _titles(chat, "ben") == ["Still open"] * 5, "of whom nothing is said"
    gathered = json.dumps((await _direct(chat, "ann"))[-1]["blocks"])
    assert gathered.count("Still open") == gathered.count("|Open the card>") == 3
    assert "<slack://app?team=T0ACME&amp;id=A0COUNTERSIGN&amp;tab=home|Open your Home>" in gathered


async def test_what_is_gathered_calls_a_request_as_its_author_does(chat: Chat) -> None:
    await _says(chat.bench, HOURLY, ann={"per_hour": 1})
    await _filings(chat, "1", "2")
    shown = {"title": "File for ACME", "summary": "", "fields": [], "tables": [], "links": [], "hide": []}
    await chat.bench.meddle("UPDATE approvals SET shown = %s", json.dumps(shown))
    await chat.bench.later(hours=1)
    alone, gathered = await _direct(chat, "ann")
    assert 'Still open: "File for ACME" of' in alone["text"]
    assert gathered["text"] == "1 more request for you"
    assert 'Still open: "File for ACME" of' in gathered["blocks"][1]["text"]["text"]


async def test_it_is_edited_as_it_grows_and_names_a_request_once_and_none_that_was_decided(chat: Chat) -> None:
    await _says(chat.bench, {**HOURLY, "first": 1200}, ann={"per_hour": 1})
    first, second, third = await _filings(chat, "1", "2", "3")
    await chat.bench.later(minutes=20)
    assert await _titles(chat, "ann") == ["Still open", "2 more requests for you"]
    posted = chat.faults.calls["chat.postMessage"]
    await chat.bench.later(minutes=20)
    assert await _titles(chat, "ann") == ["Still open", "3 more requests for you"]
    assert chat.faults.calls["chat.postMessage"] - posted == 9, "three threads and two other people, three times"
    await chat.bench.click("ben", second, verdict="reject")
    await chat.bench.later(minutes=19)
    await chat.bench.click("cat", third, verdict="reject")
    await chat.bench.later(minutes=1)
    assert (await _titles(chat, "ann"))[1] == "1 more request for you"
    assert first


async def test_after_an_hour_there_is_room_again(chat: Chat) -> None:
    await _says(chat.bench, HOURLY, ann={"per_hour": 1})
    await _filings(chat, "1", "2")
    await chat.bench.later(hours=1)
    await chat.bench.later(hours=1)
    more = "1 more request for you"
    assert await _titles(chat, "ann") == ["Still open", more, "Still open", more]


async def test_what_asks_for_nothing_is_counted_and_gathered_too(chat: Chat) -> None:
    await _says(chat.bench, {}, rita={"per_hour": 1})
    for approval in await _filings(chat, "1", "2", "3"):
        await chat.bench.click("ann", approval, verdict="reject")
    await chat.bench.settle()
    first, gathered = await _direct(chat, "rita")
    assert "more" not in first["text"]
    assert gathered["text"] == "8 more messages for you", "each was asked for, was rejected, and its run has ended"


async def test_a_message_that_asks_for_what_was_decided_meanwhile_is_not_sent(chat: Chat) -> None:
    everywhere = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "10:00", "until": "12:00"}
    await _says(chat.bench, HOURLY, ann={"timezone": "UTC", "quiet_hours": [everywhere]})
    approval, other = await _filings(chat, "1", "2")
    await chat.bench.later(hours=1)
    assert await _titles(chat, "ann") == []
    await chat.bench.click("ben", approval, verdict="reject")
    await chat.bench.click("ann", other)
    await chat.bench.later(hours=2)
    assert await _titles(chat, "ann") == [], "one is decided, the other waits for somebody else"


async def test_what_is_tried_again_in_quiet_hours_waits_for_their_end(chat: Chat) -> None:
    night = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "10:30", "until": "12:00"}
    await _says(chat.bench, HOURLY, ann={"timezone": "UTC", "quiet_hours": [night]})
    await _filings(chat, "1")
    chat.faults.refuse("conversations.open", "team_added_to_org")
    await chat.bench.later(hours=1)
    chat.faults.lift("conversations.open")
    await chat.bench.later(minutes=45)
    assert await _titles(chat, "ann") == []
    assert await _titles(chat, "ben") == ["Still open"]
    await chat.bench.later(minutes=75)
    assert "Still open" in await _titles(chat, "ann")


async def test_slack_falling_silent_while_it_is_posted_makes_no_second_message(chat: Chat) -> None:
    await _says(chat.bench, {}, rita={"per_hour": 1})
    [first, *others] = await _filings(chat, "1", "2", "3")
    await chat.bench.click("ann", first, verdict="reject")
    await chat.bench.settle()
    chat.faults.lose("chat.postMessage")
    for approval in others:
        await chat.bench.click("ann", approval, verdict="reject")
    await chat.bench.settle()
    chat.faults.lift("chat.postMessage")
    for _ in range(4):
        await chat.bench.later(minutes=3)
    assert len([text for text in await _titles(chat, "rita") if "more message" in text]) == 1
    assert (await _titles(chat, "rita"))[-1] == "8 more messages for you"


async def _turns(bench: Bench, count: int) -> list[SendAlone | SendGathered]:
    """Ask for the turns of so many messages at once, as many workers would."""
    notices = [Notice(f"m{number % count}", "UANN", TIMES_UP, None, asks=False) for number in range(2 * count)]
    return list(await asyncio.gather(*(bench.desk.notices.take_turn(notice) for notice in notices)))  # type: ignore[arg-type]


async def test_counting_is_exact_among_workers_and_each_message_counts_once(bench: Bench) -> None:
    await _says(bench, {}, ann={"per_hour": 7})
    turns = await _turns(bench, 40)
    assert turns[:40] == turns[40:], "asked again of the same, it is the same"
    assert turns[:40].count(SendAlone()) == 7
    assert len({turn.gathering_id for turn in turns if isinstance(turn, SendGathered)}) == 1
    assert await bench.rows("SELECT count(*) AS n FROM direct_messages WHERE tenant = %s", TENANT) == [{"n": 40}]


async def test_what_was_counted_is_forgotten_after_a_month_and_what_is_not_bounded_is_not_counted(bench: Bench) -> None:
    await _says(bench, {}, ann={"per_hour": 2})
    await _turns(bench, 5)
    bench.clock.move(days=31)
    assert await bench.desk.notices.take_turn(Notice("new", "UANN", TIMES_UP, None, asks=False)) == SendAlone()
    assert await bench.rows("SELECT message FROM direct_messages") == [{"message": "new"}]
    assert await bench.rows("SELECT 1 FROM gatherings") == []
    assert await bench.desk.notices.take_turn(Notice("other", "UBEN", TIMES_UP, None, asks=False)) == SendAlone()
    assert await bench.rows("SELECT message FROM direct_messages") == [{"message": "new"}]


@pytest.fixture
async def direct(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    """Give a chat in which requests go to a channel, and to each person asked."""
    routing = replace(ROUTING, rules=(Rule(Destination((CHANNEL,), direct=True)),))
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets, routing=routing) as running:
        yield running


async def test_copies_of_cards_are_counted_too_and_what_is_more_is_a_line(direct: Chat) -> None:
    await _says(direct.bench, {}, ann={"per_hour": 2})
    approvals = await _filings(direct, "1", "2", "3", "4")
    told = await _direct(direct, "ann")
    assert [message["text"].partition(":")[0] for message in told] == [
        *("Approval needed", "Approval needed"),
        "2 more requests for you",
    ]
    assert "Your decision is needed: " in json.dumps(told[-1]["blocks"])
    assert len(await direct.cards()) == 4, "in their channel all of them stand"
    await direct.bench.click("ben", approvals[3], verdict="reject")
    await direct.bench.settle()
    assert await _unshown(direct) == [], "a copy that was never posted is not edited"
    assert [message["text"].partition(":")[0] for message in await _direct(direct, "ben")][-1] == "Rejected"


async def test_a_copy_waits_for_the_end_of_quiet_hours_and_comes_if_it_is_needed_then(direct: Chat) -> None:
    await _says(direct.bench, {}, ann={"timezone": "UTC", "quiet_hours": [UNTIL_ELEVEN]})
    first, _ = await _filings(direct, "1", "2")
    assert await _titles(direct, "ann") == []
    await direct.bench.click("ben", first, verdict="reject")
    await direct.bench.settle()
    await direct.bench.later(hours=2)
    assert await _titles(direct, "ann") == ["Approval needed"]


async def _unshown(chat: Chat) -> list[dict[str, Any]]:
    """Return the places whose card is not yet as it is to be."""
    return await chat.bench.rows(
        "SELECT fields->>'copy_at' AS place FROM effects WHERE operation = 'update_card' AND status <> 'dispatched'"
    )


async def test_a_copy_that_is_a_line_is_not_edited_while_its_request_is_open(direct: Chat) -> None:
    await _says(direct.bench, {}, ann={"per_hour": 1})
    _, lined = await _filings(direct, "1", "2")
    await direct.bench.click("ben", lined)
    await direct.bench.settle()
    assert await _unshown(direct) == []
    assert await _titles(direct, "ann") == ["Approval needed", "1 more request for you"]


async def test_a_copy_for_one_who_decided_before_it_came_is_neither_posted_nor_edited(direct: Chat) -> None:
    await _says(direct.bench, {}, ann={"timezone": "UTC", "quiet_hours": [UNTIL_ELEVEN]})
    [approval] = await _filings(direct, "1")
    await direct.bench.click("ann", approval)
    await direct.bench.settle()
    assert await _unshown(direct) == []
    await direct.bench.later(hours=2)
    assert await _titles(direct, "ann") == []


async def test_a_copy_that_comes_later_shows_what_happened_before_it_came(direct: Chat) -> None:
    await _says(direct.bench, {}, ann={"timezone": "UTC", "quiet_hours": [UNTIL_ELEVEN]})
    [approval] = await _filings(direct, "1")
    await direct.bench.click("ben", approval)
    await direct.bench.settle()
    assert await _unshown(direct) == [{"place": "UANN"}]
    await direct.bench.later(hours=2)
    await direct.bench.later(hours=1)
    assert await _unshown(direct) == []
    [copy] = await _direct(direct, "ann")
    assert "1 of 2" in json.dumps(copy["blocks"])


ALWAYS = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "until": "22:00"}
QUIET = {"timezone": "UTC", "quiet_hours": [ALWAYS], "per_hour": 1}


@pytest.fixture
async def glass_chat(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    async with glass_policy(tmp_path) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _glass_notices(chat: Chat, **notices: dict[str, Any]) -> None:
    for person, said in notices.items():
        await chat.bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", json.dumps(said), person)


async def _texts(person: SandboxUser) -> list[str]:
    """Return what a person was told directly, the oldest first."""
    state = await person.see()
    found = [one for channel in state["channels"] if channel["id"].startswith("D") for one in channel["messages"]]
    return [one["text"] for one in sorted(found, key=lambda one: float(one["ts"]))]


async def test_a_break_glass_is_told_at_once_in_quiet_hours(glass_chat: Chat) -> None:
    await _glass_notices(glass_chat, sam=QUIET)
    await break_glass(glass_chat.bench, "ivy", await glass_chat.file())
    await glass_chat.bench.settle()
    assert [text for text in await _texts(await glass_chat.person("sam")) if "used break-glass" in text]


async def test_each_alarm_is_a_new_message_however_many_there_are(glass_chat: Chat) -> None:
    await _glass_notices(glass_chat, sam={"per_hour": 1})
    for number, person in enumerate(("ivy", "ivy")):
        await break_glass(glass_chat.bench, person, await glass_chat.file(str(number)))
    await glass_chat.bench.settle()
    told = await _texts(await glass_chat.person("sam"))
    assert len([text for text in told if "used break-glass" in text]) == 2
    assert not [text for text in told if "more message" in text]


async def test_an_overdue_review_is_told_at_once_in_quiet_hours_and_as_a_new_message(glass_chat: Chat) -> None:
    await _glass_notices(glass_chat, sam=QUIET)
    await break_glass(glass_chat.bench, "ivy", await glass_chat.file())
    await glass_chat.bench.settle()
    for _ in range(2):
        await glass_chat.bench.later(days=3)
    assert (
        len([text for text in await _texts(await glass_chat.person("sam")) if "Break-glass review overdue" in text])
        == 2
    )


async def test_that_nobody_can_sign_is_told_at_once_in_quiet_hours(glass_chat: Chat) -> None:
    await _glass_notices(glass_chat, omar=QUIET)
    await glass_chat.bench.meddle("DELETE FROM actors WHERE actor_id IN ('ben', 'cat', 'sue')")
    await glass_chat.file()
    assert [text for text in await _texts(await glass_chat.person("omar")) if "distinct people" in text]


async def test_a_question_is_a_message_although_much_was_told_before(glass_chat: Chat) -> None:
    await _glass_notices(glass_chat, rita={"per_hour": 1})
    for number in range(20):
        approval = await glass_chat.file(str(number))
    await say(glass_chat.bench, "ann", approval, CardAct.ASK, "whose account is it?")
    await glass_chat.bench.settle()
    told = await _texts(await glass_chat.person("rita"))
    assert [text for text in told if "Ann asks about" in text and "whose account is it?" in text]


async def test_reminders_do_not_use_up_the_room_of_escalations(glass_chat: Chat) -> None:
    shortly_before = {"first": 19_800, "factor": 1, "at_most": 1}
    await glass_chat.bench.meddle("UPDATE directories SET remind = %s", json.dumps(shortly_before))
    await _glass_notices(glass_chat, sue={"per_hour": 1})
    await glass_chat.bench.meddle(
        "UPDATE actors SET groups = '[\"compliance\", \"senior-compliance\"]' WHERE actor_id = 'sue'"
    )
    await glass_chat.file()
    for _ in range(2):
        await glass_chat.bench.later(hours=5.5)
        await glass_chat.bench.later(hours=0.5)
    told = await _texts(await glass_chat.person("sue"))
    assert [text for text in told if text.startswith("Escalated")]


async def test_a_doubt_is_asked_about_at_once_in_quiet_hours(dsn: str, opa: OpaChild, targets: Targets) -> None:
    routing = replace(ROUTING, rules=(Rule(Destination((CHANNEL,), direct=True), groups=("operators",)),))
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets, routing=routing) as chat:
        await _glass_notices(chat, omar=QUIET)
        targets.file.answers = [OutcomeUnknownError("connection reset")]
        approval = await chat.file()
        for person in ("ann", "ben"):
            assert (await chat.bench.click(person, approval)).counted
        await chat.bench.settle()
        for _ in range(2):
            await chat.bench.later(minutes=5)
        assert [text for text in await _texts(await chat.person("omar")) if text.startswith("Did this happen?")]


async def test_of_reminders_that_wait_for_the_end_of_quiet_hours_one_goes_out(glass_chat: Chat) -> None:
    hourly = {"first": 3600, "factor": 1, "at_most": 3}
    await glass_chat.bench.meddle("UPDATE directories SET remind = %s", json.dumps(hourly))
    await _glass_notices(glass_chat, ann={"timezone": "UTC", "quiet_hours": [{**ALWAYS, "until": "13:00"}]})
    await glass_chat.file()
    for _ in range(5):
        await glass_chat.bench.later(hours=1)
    told = await _texts(await glass_chat.person("ann"))
    assert len([text for text in told if text.startswith("Still open")]) == 1
