"""Alarms go out at once, new and at any hour, by the real sender; a question is a message; reminders wait."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.handlers import OutcomeUnknownError
from runtime.model.routing import Destination, Rule
from runtime.model.votes import CardAct
from sandbox.harness import SandboxUser
from tests.bench import ROUTING
from tests.integration.answers_stage import say
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.glass_stage import break_glass, glass_policy
from tests.patience import MINUTE

ALWAYS = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "until": "22:00"}
QUIET = {"timezone": "UTC", "quiet_hours": [ALWAYS], "per_hour": 1}


@pytest.fixture
async def chat(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[Chat]:
    async with glass_policy(tmp_path) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _says(chat: Chat, **notices: dict[str, Any]) -> None:
    for person, said in notices.items():
        await chat.bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = %s", json.dumps(said), person)


async def _texts(person: SandboxUser) -> list[str]:
    """Return what a person was told directly, the oldest first."""
    state = await person.see()
    found = [one for channel in state["channels"] if channel["id"].startswith("D") for one in channel["messages"]]
    return [one["text"] for one in sorted(found, key=lambda one: float(one["ts"]))]


async def test_a_break_glass_is_told_at_once_in_quiet_hours(chat: Chat) -> None:
    await _says(chat, sam=QUIET)
    await break_glass(chat.bench, "ivy", await chat.file())
    await chat.bench.settle()
    assert [text for text in await _texts(await chat.person("sam")) if "used break-glass" in text]


async def test_each_alarm_is_a_new_message_however_many_there_are(chat: Chat) -> None:
    await _says(chat, sam={"per_hour": 1})
    for number, person in enumerate(("ivy", "ivy")):
        await break_glass(chat.bench, person, await chat.file(str(number)))
    await chat.bench.settle()
    told = await _texts(await chat.person("sam"))
    assert len([text for text in told if "used break-glass" in text]) == 2
    assert not [text for text in told if "more message" in text]


async def test_an_overdue_review_is_told_at_once_in_quiet_hours_and_as_a_new_message(chat: Chat) -> None:
    await _says(chat, sam=QUIET)
    await break_glass(chat.bench, "ivy", await chat.file())
    await chat.bench.settle()
    for _ in range(2):
        await chat.bench.later(days=3)
    assert len([text for text in await _texts(await chat.person("sam")) if "Break-glass review overdue" in text]) == 2


async def test_that_nobody_can_sign_is_told_at_once_in_quiet_hours(chat: Chat) -> None:
    await _says(chat, omar=QUIET)
    await chat.bench.meddle("DELETE FROM actors WHERE actor_id IN ('ben', 'cat', 'sue')")
    await chat.file()
    assert [text for text in await _texts(await chat.person("omar")) if "distinct people" in text]


async def test_a_question_is_a_message_although_much_was_told_before(chat: Chat) -> None:
    await _says(chat, rita={"per_hour": 1})
    for number in range(20):
        approval = await chat.file(str(number))
    await say(chat.bench, "ann", approval, CardAct.ASK, "whose account is it?")
    await chat.bench.settle()
    told = await _texts(await chat.person("rita"))
    assert [text for text in told if "Ann asks about" in text and "whose account is it?" in text]


async def test_reminders_do_not_use_up_the_room_of_escalations(chat: Chat) -> None:
    shortly_before = {"first": 19_800, "factor": 1, "at_most": 1}
    await chat.bench.meddle("UPDATE directories SET remind = %s", json.dumps(shortly_before))
    await _says(chat, sue={"per_hour": 1})
    await chat.bench.meddle(
        "UPDATE actors SET groups = '[\"compliance\", \"senior-compliance\"]' WHERE actor_id = 'sue'"
    )
    await chat.file()
    for _ in range(2):
        await chat.bench.later(hours=5.5)
        await chat.bench.later(hours=0.5)
    told = await _texts(await chat.person("sue"))
    assert [text for text in told if text.startswith("Escalated")]


async def test_a_doubt_is_asked_about_at_once_in_quiet_hours(dsn: str, opa: OpaChild, targets: Targets) -> None:
    routing = replace(ROUTING, rules=(Rule(Destination((CHANNEL,), direct=True), groups=("operators",)),))
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets, routing=routing) as chat:
        await _says(chat, omar=QUIET)
        targets.file.answers = [OutcomeUnknownError("connection reset")]
        approval = await chat.file()
        for person in ("ann", "ben"):
            assert (await chat.bench.click(person, approval)).counted
        await chat.bench.settle()
        for _ in range(2):
            await chat.bench.later(minutes=5)
        assert [text for text in await _texts(await chat.person("omar")) if text.startswith("Did this happen?")]


async def test_of_reminders_that_wait_for_the_end_of_quiet_hours_one_goes_out(chat: Chat) -> None:
    hourly = {"first": 3600, "factor": 1, "at_most": 3}
    await chat.bench.meddle("UPDATE directories SET remind = %s", json.dumps(hourly))
    await _says(chat, ann={"timezone": "UTC", "quiet_hours": [{**ALWAYS, "until": "13:00"}]})
    await chat.file()
    for _ in range(5):
        await chat.bench.later(hours=1)
    told = await _texts(await chat.person("ann"))
    assert len([text for text in told if text.startswith("Still open")]) == 1
