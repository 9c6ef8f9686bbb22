"""Many acts at once: each is answered with what holds, and what is recorded is said so."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from bot.listeners.admission import AT_ONCE, BUSY, LATE, TOO_FAST
from bot.listeners.private_answers import REASON_NOT_RECORDED
from bot.views.references import REASON, REASON_MODAL, ReasonRef
from runtime.model.limits import Rate
from runtime.model.person import Person
from runtime.model.votes import VoteVerdict
from tests.integration.bot_accounts import headers_of
from tests.integration.bot_stage import (
    CHANNEL,
    PEOPLE,
    SECRET,
    WORKSPACE,
    Stage,
    ask,
    staged,
    until,
)
from tests.patience import MINUTE

OFFICERS = [f"U0OFFICER{number}" for number in range(300)]
CROWD = [*WORKSPACE["users"], *({"id": one, "name": one.lower(), "real_name": one} for one in OFFICERS)]
CHANNELS = [{**WORKSPACE["channels"][0], "members": [one["id"] for one in CROWD]}]
WIDE = Rate(per_second=1000, burst=1000)


@pytest.fixture(autouse=True)
def officers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the directory know 300 officers."""
    for one in OFFICERS:
        monkeypatch.setitem(PEOPLE, one, [Person(f"p-{one}", one, ("compliance",))])


def submission(user: str, number: int = 0) -> bytes:
    """Return what Slack sends when somebody submits their reason."""
    view = ask(quorum=1000)
    ref = ReasonRef(
        id=view.approval_id,
        digest=view.digest[:16],
        stamp=view.stamp,
        verdict=VoteVerdict.APPROVE,
        channel=CHANNEL,
        over=False,
    )
    payload = {
        "type": "view_submission",
        "user": {"id": user, "team_id": "T0HOST"},
        "view": {
            "type": "modal",
            "id": f"V-{user}-{number}",
            "callback_id": REASON_MODAL,
            "private_metadata": ref.model_dump_json(),
            "state": {"values": {REASON: {REASON: {"value": f"seen and checked, {number}"}}}},
        },
    }
    return urlencode({"payload": json.dumps(payload)}).encode()


async def send(http: aiohttp.ClientSession, stage: Stage, body: bytes) -> str:
    """Submit, and return what the person is told: "" where the modal closes."""
    signed = headers_of(SECRET, stage.clock, body, "application/x-www-form-urlencoded")
    async with http.post(stage.bot_url, data=body, headers=signed) as response:
        assert response.status == 200, await response.text()
        text = await response.text()
    return str(json.loads(text)["errors"][REASON]) if text else ""


async def send_all(stage: Stage, bodies: Sequence[bytes]) -> list[str]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:
        return list(await asyncio.gather(*(send(http, stage, body) for body in bodies)))


def recorded(stage: Stage) -> set[str]:
    return {click.account.user for click in stage.desk.inbox.values()}


async def test_of_three_hundred_submissions_at_once_each_is_told_what_holds() -> None:
    async with staged(users=CROWD, channels=CHANNELS, rate=WIDE) as stage:
        stage.desk.approvals["apr-1"] = ask(quorum=1000)
        answers = dict(zip(OFFICERS, await send_all(stage, [submission(one) for one in OFFICERS]), strict=True))
        assert set(answers.values()) <= {"", BUSY, LATE}
        let_in = {one for one, said in answers.items() if said != BUSY}
        assert let_in
        await until(lambda: recorded(stage) >= let_in)
        assert recorded(stage) == let_in


async def test_what_is_not_let_in_is_not_recorded_and_what_is_late_is_told_once_it_is() -> None:
    gate = asyncio.Event()
    async with staged(users=CROWD, channels=CHANNELS, rate=WIDE) as stage:
        stage.desk.approvals["apr-1"] = ask(quorum=1000)
        stage.desk.recording = gate.wait
        answers = dict(zip(OFFICERS, await send_all(stage, [submission(one) for one in OFFICERS]), strict=True))
        said = Counter(answers.values())
        assert set(said) == {BUSY, LATE}
        assert said[LATE] >= AT_ONCE
        assert recorded(stage) == set()
        gate.set()
        late = [one for one, words in answers.items() if words == LATE]
        await until(lambda: recorded(stage) == set(late))
        person = await stage.person(late[0])
        await person.find_card(lambda one: "It is recorded" in one["text"] and one["channel"].startswith("D"))
        assert stage.bot.counts()["too many at once"] == said[BUSY]


async def test_what_is_late_and_then_fails_is_not_called_recorded() -> None:
    gate = asyncio.Event()
    async with staged(users=CROWD, channels=CHANNELS) as stage:
        stage.desk.approvals["apr-1"] = ask(quorum=1000)
        stage.desk.recording = gate.wait
        assert await send_all(stage, [submission(OFFICERS[0])]) == [LATE]
        stage.desk.down.add("record")
        gate.set()
        person = await stage.person(OFFICERS[0])
        told = await person.find_card(lambda one: one["channel"].startswith("D"))
        assert told["text"] == REASON_NOT_RECORDED
        assert recorded(stage) == set()


async def test_a_repeat_shares_the_answer_and_takes_no_slot() -> None:
    gate = asyncio.Event()
    async with staged(users=CROWD, channels=CHANNELS, rate=Rate(per_second=0.001, burst=1)) as stage:
        stage.desk.approvals["apr-1"] = ask(quorum=1000)
        stage.desk.recording = gate.wait
        sending = asyncio.gather(send_all(stage, [submission(OFFICERS[0])] * 5), _open_soon(stage, gate))
        async with asyncio.timeout(MINUTE):
            [answers, _] = await sending
        assert answers == [""] * 5
        assert len(stage.desk.inbox) == 1
        assert stage.bot.counts() == {}


async def _open_soon(stage: Stage, gate: asyncio.Event) -> None:
    await until(lambda: stage.desk.reached["record"] > 0)
    gate.set()


async def test_who_is_faster_than_a_person_may_be_is_told_that_nothing_is_recorded() -> None:
    async with staged(users=CROWD, channels=CHANNELS, rate=Rate(per_second=0.001, burst=2)) as stage:
        stage.desk.approvals["apr-1"] = ask(quorum=1000)
        async with aiohttp.ClientSession() as http:
            answers = [await send(http, stage, submission(OFFICERS[0], number)) for number in range(4)]
            assert await send(http, stage, submission(OFFICERS[1])) == "", "others are let in"
        assert answers == ["", "", TOO_FAST, TOO_FAST]
        assert Counter(click.account.user for click in stage.desk.inbox.values()) == {OFFICERS[0]: 2, OFFICERS[1]: 1}
        person: Any = await stage.person(OFFICERS[0])
        await person.command(CHANNEL, "/countersign help")
        await person.find_card(lambda one: "Nothing was recorded" in one["text"])
        assert stage.bot.counts() == {"people over their limit": 3}
