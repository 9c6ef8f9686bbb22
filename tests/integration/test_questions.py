"""Questions of those who decide to whoever asked: in the thread, on the card, answered by a person or a caller."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from bot.views.references import ANSWER
from countersign.embedded.opa import OpaChild
from evidence.page.report import report_on
from evidence.reading.markdown import quoted
from evidence.verify.trust import trust_of
from policy.client import OpaEngine
from receipts.signing import public_path
from runtime.model.votes import CardAct, RefusalCode
from runtime.store.operator_lists import questions_in
from tests.bench import Bench
from tests.integration.answers_stage import say
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.more_stage import newest, opened, recorded
from tests.integration.sealing_stage import open_office
from tests.integration.seen import whispered
from tests.patience import MINUTE

ASK, REPLY = CardAct.ASK, CardAct.REPLY


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _asked(bench: Bench) -> str:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    return await bench.approval_id()


async def _question(bench: Bench) -> str:
    (row,) = await bench.rows("SELECT question_id FROM questions ORDER BY asked_at DESC LIMIT 1")
    return str(row["question_id"])


def _code(outcome: Any) -> RefusalCode | None:
    return outcome.refusal.code if outcome.refusal else None


async def test_who_may_decide_asks_and_whoever_asked_answers(bench: Bench) -> None:
    approval = await _asked(bench)
    assert (await say(bench, "ann", approval, ASK, "who owns it?")).counted
    assert (await say(bench, "rita", approval, REPLY, "the founders", await _question(bench))).counted
    view = await bench.desk.approval(approval)
    assert view
    (question,) = view.questions
    assert question.answer
    assert (question.person_name, question.question) == ("Ann", "who owns it?")
    assert (question.answer["by"], question.answer["text"]) == ("rita", "the founders")
    await bench.settle()
    told = [said["text"] for said in bench.chat.said("post_message")]
    assert 'Ann asks about One filing (1): "who owns it?"' in told
    assert 'Rita answers: "the founders"' in told


async def _states(bench: Bench) -> list[str]:
    (run,) = await bench.rows("SELECT run_id FROM runs")
    async with bench.engine.pool.connection() as conn:
        return [one["state"] for one in await questions_in(conn, run["run_id"])]


async def test_an_operator_sees_which_questions_are_open(bench: Bench) -> None:
    approval = await _asked(bench)
    await say(bench, "ann", approval, ASK, "who owns it?")
    await say(bench, "rita", approval, REPLY, "the founders", await _question(bench))
    bench.clock.move(minutes=1)
    await say(bench, "ben", approval, ASK, "since when?")
    assert await _states(bench) == ["answered", "open"]
    await bench.click("ben", approval, "reject", "not like this")
    assert await _states(bench) == ["answered", "not answered"]


async def test_evidence_tells_people_who_asked_what_and_what_was_said(bench: Bench, dsn: str, tmp_path: Path) -> None:
    approval = await _asked(bench)
    await say(bench, "ann", approval, ASK, "who <b>owns</b> it? `x`")
    bench.clock.move(minutes=5)
    await say(bench, "rita", approval, REPLY, "the *founders*", await _question(bench))
    await say(bench, "ben", approval, ASK, "since when?")
    await bench.click("ben", approval, "reject", "not like this")
    await bench.settle()
    office = open_office(bench, tmp_path, dsn)
    while await office.sealer():
        pass
    (file,) = office.folder.glob("*.zip")
    with ZipFile(file) as bundle:
        summary = bundle.read("summary.md").decode()
    assert f"Asked: **Ann**, 5 Jan 2026, 09:00:00 UTC: {quoted('who <b>owns</b> it? `x`', 300)}" in summary
    assert f"Answered: **Rita**, 5 Jan 2026, 09:05:00 UTC: {quoted('the *founders*', 300)}" in summary
    assert "<b>" not in summary
    assert f"{quoted('since when?', 300)}\n    - Not answered" in summary
    page = report_on(file, trust_of(public_path(office.settings.key_path))).page.decode()
    assert "who &lt;b&gt;owns&lt;/b&gt; it?" in page
    assert "not answered" in page
    assert "<b>" not in page


async def test_nobody_asks_who_may_not_decide(bench: Bench) -> None:
    approval = await _asked(bench)
    assert _code(await say(bench, "rita", approval, ASK, "why me?")) is RefusalCode.REQUESTER
    assert _code(await say(bench, "omar", approval, ASK, "what is it?")) is RefusalCode.NOT_IN_GROUP


async def test_nobody_asks_again_before_they_are_answered(bench: Bench) -> None:
    approval = await _asked(bench)
    await say(bench, "ann", approval, ASK, "who owns it?")
    assert _code(await say(bench, "ann", approval, ASK, "and why?")) is RefusalCode.QUESTION_OPEN
    assert (await say(bench, "ben", approval, ASK, "since when?")).counted


async def test_only_whoever_asked_answers_and_once(bench: Bench) -> None:
    approval = await _asked(bench)
    await say(bench, "ann", approval, ASK, "who owns it?")
    question = await _question(bench)
    assert _code(await say(bench, "ben", approval, REPLY, "I guess so", question)) is RefusalCode.NOT_ASKED
    assert _code(await say(bench, "rita", approval, REPLY, "what?", "qst_other")) is RefusalCode.NO_QUESTION
    assert (await say(bench, "rita", approval, REPLY, "the founders", question)).counted
    assert _code(await say(bench, "rita", approval, REPLY, "not they", question)) is RefusalCode.NO_QUESTION


async def test_nothing_is_asked_or_answered_once_it_is_decided(bench: Bench) -> None:
    approval = await _asked(bench)
    await say(bench, "ann", approval, ASK, "who owns it?")
    await bench.click("ben", approval, "reject", "not like this")
    question = await _question(bench)
    assert _code(await say(bench, "rita", approval, REPLY, "the founders", question)) is RefusalCode.CLOSED
    assert _code(await say(bench, "cat", approval, ASK, "and now?")) is RefusalCode.CLOSED


async def test_a_question_is_asked_in_the_menu_and_answered_in_the_thread(chat: Chat) -> None:
    await chat.file()
    ann = await opened(chat, "ann", "Ask a question")
    assert (await ann.submit({"reason": "who owns it?"}))["ok"]
    await recorded(chat, "question.asked")
    rita = await chat.person("rita")
    asked = await rita.find_card(lambda message: ANSWER in str(message.get("blocks", "")), MINUTE)
    assert asked["mentions"] == ["URITA"]
    await rita.click(asked, ANSWER)
    assert "who owns it?" in str(await rita.find_modal(timeout=MINUTE))
    assert "visible" in str((await rita.submit({"reason": "\u200b\u200b\u200b"}))["errors"])
    assert (await rita.submit({"reason": "the founders"}))["ok"]
    await recorded(chat, "question.answered")
    card = await newest(chat, ann)
    assert "Ann asks: who owns it?" in str(card["blocks"])
    assert "the founders" in str(card["blocks"])
    await rita.click(asked, ANSWER)
    await whispered(rita, "already answered")


async def test_who_did_not_ask_for_it_cannot_answer_and_is_on_record(chat: Chat) -> None:
    await chat.file()
    ann = await opened(chat, "ann", "Ask a question")
    await ann.submit({"reason": "who owns it?"})
    await recorded(chat, "question.asked")
    asked = await ann.find_card(lambda message: ANSWER in str(message.get("blocks", "")), MINUTE)
    await ann.click(asked, ANSWER)
    await whispered(ann, "Only the requester can answer")
    refused = await chat.bench.rows("SELECT leaf FROM audit_leaves WHERE leaf ->> 'event' = 'vote.refused'")
    assert [row["leaf"]["data"]["verdict"] for row in refused] == ["reply"]
