"""A question about what a program asked for: it goes to who submitted it, else to a group that the runbook names."""

from collections.abc import AsyncIterator

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.chain import Actor
from runtime.model.votes import CardAct, RefusalCode
from runtime.planning import triggers
from runtime.planning.triggers import Trigger
from tests.bench import TENANT, Bench
from tests.integration.answers_stage import say
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.more_stage import choose, newest, opened
from tests.integration.seen import whispered
from tests.patience import MINUTE

ASK, REPLY = CardAct.ASK, CardAct.REPLY
TO_GROUP = "bench.file_to_group"
ASKED = {"company": "ACME", "text": "r"}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _asked_by_program(bench: Bench, program: str, submitted_by: str, kind: str = "bench.file") -> str:
    """Have a program ask for a filing; return the request."""
    trigger = Trigger(TENANT, kind, "1", ASKED, Actor(id=program, kind="agent"), submitted_by, "req-1")
    await triggers.claim(bench.engine, bench.definitions[kind], trigger)
    await bench.settle()
    return await bench.approval_id()


async def test_a_question_about_what_a_program_asked_for_calls_who_submitted_it(bench: Bench) -> None:
    approval = await _asked_by_program(bench, "portal-bot", "rita")
    assert (await say(bench, "ann", approval, ASK, "who owns it?")).counted
    await bench.settle()
    told = [said for said in bench.chat.said("direct_message") if "who owns it?" in said["text"]]
    assert [said["user"] for said in told] == ["URITA"]
    (question,) = await bench.rows("SELECT question_id FROM questions")
    assert (await say(bench, "rita", approval, REPLY, "the founders", question["question_id"])).counted


def _called(bench: Bench) -> list[str]:
    """Return who got the question as a direct message."""
    return [said["user"] for said in bench.chat.said("direct_message") if "who owns it?" in said["text"]]


async def test_a_question_that_no_person_could_answer_calls_the_group_of_the_runbook(bench: Bench) -> None:
    approval = await _asked_by_program(bench, "portal-bot", "portal-bot", TO_GROUP)
    assert (await say(bench, "ann", approval, ASK, "who owns it?")).counted
    await bench.settle()
    assert sorted(_called(bench)) == ["UPAM", "USAM"]
    (question,) = await bench.rows("SELECT question_id FROM questions")
    refused = await say(bench, "ben", approval, REPLY, "the founders", question["question_id"])
    assert refused.refusal
    assert refused.refusal.code is RefusalCode.NOT_ASKED
    assert (await say(bench, "sam", approval, REPLY, "the founders", question["question_id"], nonce="group")).counted
    (row,) = await bench.rows("SELECT answer FROM questions")
    assert (row["answer"]["by"], row["answer"]["group"]) == ("sam", "security")


async def test_the_group_of_the_runbook_is_not_called_where_the_submitter_is(bench: Bench) -> None:
    approval = await _asked_by_program(bench, "portal-bot", "omar", TO_GROUP)
    assert (await say(bench, "ann", approval, ASK, "who owns it?")).counted
    await bench.settle()
    assert _called(bench) == ["UOMAR"]
    (question,) = await bench.rows("SELECT question_id FROM questions")
    assert (await say(bench, "sam", approval, REPLY, "the founders", question["question_id"])).counted


async def test_a_question_that_nobody_could_answer_is_refused_before_it_is_written(bench: Bench) -> None:
    approval = await _asked_by_program(bench, "gone-bot", "gone-bot")
    refusal = await bench.desk.answers.may(ASK, approval, "ann")
    assert refusal
    assert refusal.code is RefusalCode.NOBODY_ANSWERS
    assert (await say(bench, "ann", approval, ASK, "who owns it?")).refusal == refusal
    assert await bench.rows("SELECT 1 FROM questions") == []


async def test_the_form_says_who_is_called(chat: Chat) -> None:
    await chat.file()
    ann = await opened(chat, "ann", "Ask a question")
    assert "Rita is notified in the thread and in private" in str((await ann.see())["modal"])


async def test_the_form_says_that_no_person_is_called_where_programs_alone_asked(chat: Chat) -> None:
    await _asked_by_program(chat.bench, "portal-bot", "portal-bot")
    ann = await opened(chat, "ann", "Ask a question")
    shown = str((await ann.see())["modal"])
    assert "No person is notified: a program, Portal, requested this." in shown
    assert "is notified in the thread" not in shown


async def test_the_form_names_the_group_that_is_called(chat: Chat) -> None:
    await _asked_by_program(chat.bench, "gone-bot", "gone-bot", TO_GROUP)
    ann = await opened(chat, "ann", "Ask a question")
    assert "The group security is notified in the thread and in private" in str((await ann.see())["modal"])


async def test_who_asks_what_nobody_could_answer_gets_no_form(chat: Chat) -> None:
    await _asked_by_program(chat.bench, "gone-bot", "gone-bot")
    ann = await chat.person("ann")
    await choose(ann, await newest(chat, ann), "Ask a question")
    await whispered(ann, "Nobody can answer")
    assert (await ann.see())["modal"] is None
