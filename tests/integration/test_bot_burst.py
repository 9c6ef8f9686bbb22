"""Many acts at once: each is answered with what holds, and what is recorded is said so."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from bot.listeners.admission import AT_ONCE, BUSY, LATE, TOO_FAST, WAITING
from bot.listeners.private_answers import REASON_NOT_RECORDED
from bot.views.references import REASON, REASON_MODAL, ReasonRef
from countersign.embedded.opa import OpaChild
from runtime.model.limits import Rate
from runtime.model.votes import VoteVerdict
from tests.bench import TEAM, TENANT
from tests.integration.bot_stage import clicks, headers_of, know, locked, plain, staged, votes, with_users
from tests.integration.chat_stage import CHANNEL, Chat, Slack
from tests.patience import MINUTE, until

OFFICERS = [f"UOFFICER{number}" for number in range(AT_ONCE + WAITING + 12)]
CROWD = with_users(*({"id": one, "name": one.lower(), "real_name": one} for one in OFFICERS))
FORM = "application/x-www-form-urlencoded"


@asynccontextmanager
async def crowded(dsn: str, opa: OpaChild, rate: Rate) -> AsyncIterator[Chat]:
    """Run everything with a few hundred officers of compliance."""
    async with staged(dsn, opa, Slack(workspace=CROWD, rate=rate)) as chat:
        await chat.bench.meddle(
            "INSERT INTO actors (tenant, actor_id, kind, name, groups, grants)"
            """ SELECT %s, user_id, 'person', user_id, '["compliance"]', '{}' FROM unnest(%s::text[]) AS user_id""",
            *(TENANT, OFFICERS),
        )
        await know(chat, {user: [user] for user in OFFICERS})
        yield chat


@pytest.fixture
async def chat(dsn: str, opa: OpaChild) -> AsyncIterator[Chat]:
    async with crowded(dsn, opa, Rate(per_second=0.001, burst=2)) as running:
        yield running


async def form_of(chat: Chat) -> ReasonRef:
    """Return what stands in the form in which somebody says why they approve."""
    view = await chat.bench.desk.approval(await plain(chat))
    assert view
    verdict = VoteVerdict.APPROVE
    return ReasonRef(
        id=view.approval_id, digest=view.digest[:16], stamp=view.stamp, verdict=verdict, channel=CHANNEL, over=False
    )


def submission(form: ReasonRef, user: str, number: int = 0) -> bytes:
    """Return what Slack sends when somebody submits their reason."""
    payload = {
        "type": "view_submission",
        "user": {"id": user, "team_id": TEAM},
        "view": {
            "type": "modal",
            "id": f"V-{user}-{number}",
            "callback_id": REASON_MODAL,
            "private_metadata": form.model_dump_json(),
            "state": {"values": {REASON: {REASON: {"value": f"seen and checked, {number}"}}}},
        },
    }
    return urlencode({"payload": json.dumps(payload)}).encode()


async def send(http: aiohttp.ClientSession, chat: Chat, body: bytes) -> str:
    """Submit, and return what the person is told: "" where the modal closes."""
    async with http.post(chat.heard_at, data=body, headers=headers_of(chat, body, FORM)) as response:
        assert response.status == 200, await response.text()
        text = await response.text()
    return str(json.loads(text)["errors"][REASON]) if text else ""


async def send_all(chat: Chat, bodies: Sequence[bytes]) -> list[str]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:
        return list(await asyncio.gather(*(send(http, chat, body) for body in bodies)))


async def test_of_three_hundred_submissions_at_once_each_is_told_what_holds(dsn: str, opa: OpaChild) -> None:
    async with crowded(dsn, opa, Rate(per_second=1000, burst=1000)) as chat:
        form, before = await form_of(chat), asyncio.all_tasks()
        sent = await send_all(chat, [submission(form, one) for one in OFFICERS])
        answers = dict(zip(OFFICERS, sent, strict=True))
        assert set(answers.values()) <= {"", BUSY, LATE}
        let_in = {one for one, words in answers.items() if words != BUSY}
        assert let_in

        async def are_recorded() -> bool:
            return {one["user"] for one in await clicks(chat)} == let_in

        await until(are_recorded)
        await until(lambda: asyncio.all_tasks() <= before)  # all are told what came of it, beside the rest


async def test_what_is_not_let_in_is_not_recorded_and_what_is_late_is_told_once_it_is(dsn: str, opa: OpaChild) -> None:
    async with crowded(dsn, opa, Rate(per_second=1000, burst=1000)) as chat:
        form, before = await form_of(chat), asyncio.all_tasks()
        async with locked(chat, "notifications"):
            sent = await send_all(chat, [submission(form, one) for one in OFFICERS])
            answers = dict(zip(OFFICERS, sent, strict=True))
            said = Counter(answers.values())
            assert set(said) == {BUSY, LATE}
            assert said[LATE] >= AT_ONCE
            assert await clicks(chat) == []
        late = {one for one, words in answers.items() if words == LATE}

        async def are_recorded() -> bool:
            return {one["user"] for one in await clicks(chat)} == late

        await until(are_recorded)
        await until(lambda: asyncio.all_tasks() <= before)
        person = await chat.person(min(late)[1:])
        await person.find_card(lambda one: "It is recorded" in one["text"] and one["channel"].startswith("D"))
        assert chat.bot.counts()["too many at once"] == said[BUSY]
        assert await are_recorded()


async def test_what_is_late_and_then_fails_is_not_called_recorded(chat: Chat) -> None:
    form = await form_of(chat)
    async with locked(chat, "notifications") as holding:
        assert await send_all(chat, [submission(form, OFFICERS[0])]) == [LATE]
        await holding.execute("ALTER TABLE notifications RENAME TO elsewhere")
    person = await chat.person(OFFICERS[0][1:])
    told = await person.find_card(lambda one: one["channel"].startswith("D"))
    assert told["text"] == REASON_NOT_RECORDED
    await chat.bench.meddle("ALTER TABLE elsewhere RENAME TO notifications")
    assert await clicks(chat) == []


async def test_a_repeat_shares_the_answer_and_takes_no_slot(chat: Chat) -> None:
    form = await form_of(chat)
    async with asyncio.timeout(MINUTE):
        async with locked(chat, "notifications"):
            sending = asyncio.create_task(send_all(chat, [submission(form, OFFICERS[0])] * 5))
            await until(lambda: _is_waiting(chat))
        assert await sending == [""] * 5
    assert len(await votes(chat, 1)) == len(await clicks(chat)) == 1
    assert chat.bot.counts() == {}


async def _is_waiting(chat: Chat) -> bool:
    return bool(await chat.bench.rows("SELECT 1 FROM pg_locks WHERE NOT granted"))


async def test_who_is_faster_than_a_person_may_be_is_told_that_nothing_is_recorded(chat: Chat) -> None:
    form = await form_of(chat)
    async with aiohttp.ClientSession() as http:
        answers = [await send(http, chat, submission(form, OFFICERS[0], number)) for number in range(4)]
        assert await send(http, chat, submission(form, OFFICERS[1])) == "", "others are let in"
    assert answers == ["", "", TOO_FAST, TOO_FAST]
    assert Counter(one["user"] for one in await clicks(chat)) == {OFFICERS[0]: 2, OFFICERS[1]: 1}
    person: Any = await chat.person(OFFICERS[0][1:])
    await person.command(CHANNEL, "/countersign help")
    await person.find_card(lambda one: "Nothing was recorded" in one["text"])
    assert chat.bot.counts() == {"people over their limit": 3}
