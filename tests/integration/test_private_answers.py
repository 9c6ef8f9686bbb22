"""Private answers: each is given once by all processes together, and lost by none."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from bot.app import BotSettings, Places, build_bot
from bot.listeners.private_answers import PrivateAnswers
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.delivery import AnswerTurn, Notice, SendAlone
from runtime.model.messages import Plain
from runtime.services.approvals import ApprovalService
from runtime.services.cards import StoredCards
from runtime.services.delivery_preferences import DeliveryPreferences
from runtime.services.installations import InstallationLifecycle
from runtime.services.requests import RequestService
from runtime.store.database.pool import make_pool
from sandbox.delivery import HttpCourier
from sandbox.harness import SandboxUser
from sandbox.people import People
from tests.bench import TENANT
from tests.integration.chat_stage import CHANNEL, SECRET, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.running import heard, watched
from tests.integration.seen import whispers
from tests.patience import MINUTE, until

OCCASION, WORDS = "V1", "Your click was recorded."
SENT = "chat.postEphemeral"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


def process(chat: Chat, patience: float = MINUTE) -> PrivateAnswers:
    """Return the answers of another process over the same database."""
    return PrivateAnswers(chat.raw, ApprovalService(chat.bench.engine, TENANT).notices, patience)


async def tell(answers: PrivateAnswers, words: str = WORDS, occasion: str = OCCASION) -> None:
    await answers.tell("UANN", CHANNEL, words, occasion=occasion)


async def heard_by(person: SandboxUser) -> list[str]:
    return whispers(await person.see())


async def test_two_processes_answer_one_delivery_once(chat: Chat) -> None:
    ann = await chat.person("ann")
    chat.faults.hold(SENT)
    telling = asyncio.gather(*(tell(process(chat)) for _ in range(2)))
    await chat.faults.called(SENT, 1)
    chat.faults.lift(SENT)
    await telling
    assert (await heard_by(ann), chat.faults.calls[SENT]) == ([WORDS], 1)


async def test_an_answer_is_not_given_again_after_a_restart(chat: Chat) -> None:
    ann = await chat.person("ann")
    await tell(process(chat))
    await tell(process(chat))
    assert await heard_by(ann) == [WORDS]


async def test_other_words_and_other_occasions_are_other_answers(chat: Chat) -> None:
    ann = await chat.person("ann")
    await tell(process(chat))
    await tell(process(chat), words="Another word.")
    await tell(process(chat), occasion="V2")
    assert await heard_by(ann) == [WORDS, "Another word.", WORDS]


async def test_what_slack_did_not_take_is_given_by_the_next_delivery(chat: Chat) -> None:
    ann = await chat.person("ann")
    for method in (SENT, "conversations.open"):
        chat.faults.break_down(method)
    await tell(process(chat))
    assert await heard_by(ann) == []
    for method in (SENT, "conversations.open"):
        chat.faults.lift(method)
    await tell(process(chat))
    assert await heard_by(ann) == [WORDS]


async def test_an_answer_whose_process_died_before_it_was_given_is_given_by_another(chat: Chat) -> None:
    ann = await chat.person("ann")
    notices = DeliveryPreferences(chat.bench.engine, TENANT, chat.bench.desk.may_decide)
    assert await notices.begin_answer("UANN", OCCASION, WORDS) is AnswerTurn.OURS
    await tell(process(chat, patience=0))
    await tell(process(chat))
    assert await heard_by(ann) == [WORDS]


async def test_while_the_database_is_down_each_process_answers(chat: Chat) -> None:
    ann = await chat.person("ann")
    async with make_pool("postgresql://nobody@127.0.0.1:1/nothing", size=1, behind_pooler=False) as pool:
        away = ApprovalService(replace(chat.bench.engine, pool=pool), TENANT).notices
        first, second = PrivateAnswers(chat.raw, away), PrivateAnswers(chat.raw, away)
        await tell(first)
        await tell(first)
        assert await heard_by(ann) == [WORDS]
        await tell(second)
        assert await heard_by(ann) == [WORDS] * 2  # better twice than never


async def test_what_was_answered_is_forgotten_after_a_day(chat: Chat) -> None:
    await tell(process(chat))
    chat.bench.clock.move(hours=25)
    await tell(process(chat), occasion="V2")
    rows = await chat.bench.rows("SELECT at, said FROM told")
    assert [(row["at"], row["said"]["is_given"]) for row in rows] == [(chat.bench.clock(), True)]


async def test_what_an_answer_says_is_not_kept(chat: Chat) -> None:
    await tell(process(chat))
    (row,) = await chat.bench.rows("SELECT * FROM told")
    assert row["account"] == "UANN"
    assert WORDS not in str(row)


async def test_an_answer_is_none_of_the_messages_that_are_limited(chat: Chat) -> None:
    await chat.bench.meddle("UPDATE actors SET notices = %s WHERE actor_id = 'ann'", json.dumps({"per_hour": 1}))
    await tell(process(chat))
    said = Plain(text="Your filing is done.").model_dump(mode="json")
    turn = await chat.bench.desk.notices.take_turn(Notice("k1", "UANN", said, None, asks=False))
    assert isinstance(turn, SendAlone)


@dataclass(frozen=True)
class Watched(DeliveryPreferences):
    """A counter that keeps which turns it gave."""

    turns: list[AnswerTurn] = field(default_factory=list)

    async def begin_answer(self, account: str, occasion: str, words: str) -> AnswerTurn:
        self.turns.append(await super().begin_answer(account, occasion, words))
        return self.turns[-1]


@asynccontextmanager
async def second_bot(chat: Chat, desk: ApprovalService) -> AsyncIterator[str]:
    """Run another bot over the same database and workspace; give where it hears."""
    engine = chat.bench.engine
    settings = BotSettings("xoxb-bot", (SECRET,), None, chat.raw.base_url)
    front, places = RequestService(engine, TENANT, chat.bench.catalog), Places(InstallationLifecycle(engine, TENANT))
    bot = build_bot(settings, desk, front, StoredCards(engine), chat.bench.clock, places)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with heard(bot.asgi, listener), watched(bot):
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/slack/events"


async def test_a_mention_that_slack_delivers_to_two_processes_is_answered_once(chat: Chat) -> None:
    ann, desk = await chat.person("ann"), ApprovalService(chat.bench.engine, TENANT)
    desk.notices = watching = Watched(chat.bench.engine, TENANT, desk.may_decide)
    event = {"type": "app_mention", "user": "UANN", "text": "<@U0BOT> help", "channel": CHANNEL, "ts": "1772445600.1"}
    async with second_bot(chat, desk) as other:
        chat.faults.hold(SENT)
        await chat.happen(event)
        await chat.faults.called(SENT, 1)
        assert await People(chat.sandbox, HttpCourier(chat.sandbox, other)).hear(event)
        await until(lambda: AnswerTurn.BEGUN in watching.turns)
        chat.faults.lift(SENT)
        await until(lambda: AnswerTurn.GIVEN in watching.turns)
    assert (len(await heard_by(ann)), chat.faults.calls[SENT]) == (1, 1)
