"""Private answers and menus: given once, and only what this person may do now.

Private answers: each is given once by all processes together, and lost by none.

On the Home and behind "Show all", which one person alone sees, only what this person may do now is offered.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bot.app import BotSettings, Places, build_bot
from bot.listeners.private_answers import PrivateAnswers
from bot.views.buttons import claim_buttons
from bot.views.references import SHOW_ALL
from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.delivery import AnswerTurn, Notice, SendAlone
from runtime.model.messages import Plain
from runtime.model.votes import CardAct
from runtime.services.approval_view import Act
from runtime.services.approvals import ApprovalService
from runtime.services.cards import StoredCards
from runtime.services.delivery_preferences import DeliveryPreferences
from runtime.services.installations import InstallationLifecycle
from runtime.services.requests import RequestService
from runtime.store.database.pool import make_pool
from sandbox.delivery import HttpCourier
from sandbox.harness import SandboxUser
from sandbox.people import People
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import delegate, say
from tests.integration.chat_stage import CHANNEL, SECRET, Chat, chatting, newest
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
    rows = await chat.bench.rows("SELECT at, said FROM direct_messages")
    assert [(row["at"], row["said"]["is_given"]) for row in rows] == [(chat.bench.clock(), True)]


async def test_what_an_answer_says_is_not_kept(chat: Chat) -> None:
    await tell(process(chat))
    (row,) = await chat.bench.rows("SELECT * FROM direct_messages")
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


OFFICER = {Act.DECIDE, Act.ASK, Act.CHANGES, Act.HAND}


async def _asked(bench: Bench) -> str:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    return await bench.approval_id()


async def test_each_person_may_do_what_fits_their_part(bench: Bench) -> None:
    approval = await _asked(bench)
    acts = bench.desk.answers.acts
    assert await acts(approval, "ben") == OFFICER
    assert await acts(approval, "rita") == {Act.CANCEL}
    assert await acts(approval, "ivy") == set()
    assert await acts("apr_none", "ben") == set()


async def test_who_has_voted_may_withdraw_and_nobody_else(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await bench.click("ann", approval)).counted
    acts = bench.desk.answers.acts
    assert await acts(approval, "ann") == {Act.WITHDRAW}
    assert await acts(approval, "ben") == OFFICER


async def test_who_waits_for_an_answer_asks_no_second_question(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await say(bench, "ann", approval, CardAct.ASK, "who owns it?")).counted
    assert await bench.desk.answers.acts(approval, "ann") == OFFICER - {Act.ASK}


async def test_a_delegate_decides_and_asks_but_hands_nothing_on(bench: Bench) -> None:
    await delegate(bench, "ann", "sam")
    approval = await _asked(bench)
    assert await bench.desk.answers.acts(approval, "sam") == OFFICER - {Act.HAND}


async def test_of_a_request_that_may_be_edited_who_may_approve_it_edits_it(editing: Bench) -> None:
    await editing.start("editing.file", {"company": "ACME", "text": "report", "copies": 10})
    await editing.settle()
    acts = await editing.desk.answers.acts(await editing.approval_id(), "ann")
    assert Act.EDIT in acts


async def test_nothing_is_offered_of_what_is_decided(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await bench.click("ann", approval, "reject", "not like this")).counted
    assert await bench.desk.answers.acts(approval, "ann") == set()


def _labels(surface: Any) -> str:
    return json.dumps(surface, ensure_ascii=False)


async def test_the_home_offers_no_withdrawal_to_who_has_not_voted(chat: Chat) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    shown = _labels(await chat.home(await chat.person("ben")))
    assert "Ask a question…" in shown
    assert "Withdraw my vote…" not in shown
    assert "Cancel this request…" not in shown


async def test_show_all_offers_each_reader_their_own_acts(chat: Chat) -> None:
    approval = await chat.file()
    assert (await chat.bench.click("ann", approval)).counted
    for name, there, missing in (
        ("ann", ["Withdraw my vote…"], ["Ask a question…", '"Approve"', "Cancel this request…"]),
        ("ben", ["Ask a question…", '"Approve"'], ["Withdraw my vote…", "Cancel this request…"]),
        ("rita", ["Cancel this request…"], ["Withdraw my vote…", "Ask a question…", '"Approve"']),
    ):
        person = await chat.person(name)
        await person.click(await newest(chat, person), SHOW_ALL)
        shown = _labels(await person.find_modal(timeout=MINUTE))
        assert [label for label in there if label not in shown] == []
        assert [label for label in missing if label in shown] == []


async def test_a_review_is_claimed_and_released_by_whom_the_rules_let(bench: Bench) -> None:
    review = await bench.review()
    acts, claiming = bench.desk.answers.acts, {Act.CLAIM, Act.RELEASE}
    assert await acts(review, "ben") & claiming == {Act.CLAIM}
    assert await acts(review, "rita") & claiming == set()
    assert (await bench.claim("ann", review)).counted
    assert await acts(review, "ann") & claiming == {Act.RELEASE}
    assert await acts(review, "ben") & claiming == set()


async def test_a_private_view_offers_a_claim_as_the_reader_may_have_it(bench: Bench) -> None:
    review = await bench.review()
    assert (await bench.claim("ann", review)).counted
    view = await bench.desk.approval(review)
    assert view
    for may, labels in (
        ({Act.RELEASE}, ["Release"]),
        ({Act.CLAIM}, ["Take over"]),
        (set(), []),
    ):
        buttons = claim_buttons(replace(view, may=frozenset(may)))
        assert [one["text"]["text"] for one in buttons] == labels


async def test_the_card_of_a_channel_offers_what_anybody_may_do(chat: Chat) -> None:
    await chat.file()
    (card,) = await chat.cards()
    assert all(label in _labels(card["blocks"]) for label in ("Approve", "Ask a question…", "Cancel this request…"))
