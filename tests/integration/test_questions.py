"""Questions: of approvers to people, to programs, and over HTTP.

Questions of those who decide to whoever asked: in the thread, on the card, answered by a person or a caller.

A question about what a program asked for: it goes to who submitted it, else to a group that the runbook names.

Questions over HTTP: a caller finds those about what it brought in, answers them for itself, and sees no others.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from bot.views.references import ANSWER
from countersign.embedded.opa import OpaChild
from evidence.reading.markdown import quoted
from evidence.report import report_on
from evidence.verify.trust import trust_of
from policy.client import OpaEngine
from receipts.chain import Actor
from receipts.signing import public_path
from runtime.model.person import SlackAccount
from runtime.model.votes import CardAct, RefusalCode
from runtime.planning import triggers
from runtime.planning.triggers import Trigger
from runtime.services.approvals import ApprovalService
from runtime.services.clicks import Click
from runtime.store.operator_lists import questions_in
from runtime.worker import Worker
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import say
from tests.integration.chat_stage import Chat, chatting, choose, newest, opened, recorded
from tests.integration.conftest import Targets
from tests.integration.evidence_stage import open_office
from tests.integration.program_stage import Answer, is_problem, rows
from tests.integration.seen import whispered
from tests.integration.test_edge_answers import Stage, staged
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


TO_GROUP = "bench.file_to_group"
ASKED = {"company": "ACME", "text": "r"}


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


PORTAL = "onboarding-portal"


@pytest.fixture(scope="module")
async def stage(postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with staged(postgres, opa, tmp_path_factory.mktemp("questions")) as stage:
        yield stage


async def _asked_by_caller(stage: Stage, ref: str) -> str:
    """Bring a case to its review, and have an officer ask about it; return the question."""
    asked = await stage.asked(ref)
    await stage.answer(asked, f"{ref} documents")
    await Worker(stage.system.engine).drain()
    query = "SELECT a.approval_id FROM approvals a JOIN waits w USING (run_id) WHERE w.token = %s"
    (row,) = rows(stage.dsn, query, asked["token"])
    desk = ApprovalService(stage.system.engine, stage.system.engine.tenant)
    click = Click(
        dedupe_key=ref,
        approval_id=row["approval_id"],
        stamp="",
        verdict=CardAct.ASK,
        reason="who signs for them?",
        account=SlackAccount("T0HOST", "U0BORIS"),
        person_id="boris",
        refusal=None,
        request_id="req-ask",
    )
    assert (await desk.apply(await desk.record(click))).counted
    (found,) = rows(stage.dsn, "SELECT question_id FROM questions WHERE approval_id = %s", row["approval_id"])
    return str(found["question_id"])


async def _reply(stage: Stage, question: str, by: str = PORTAL, **sent: Any) -> Answer:
    body = json.dumps({"ref": f"{question} 1", "text": "their two directors", **sent}).encode()
    return await stage.edge.send("POST", f"/v1/questions/{question}/answer", body, by=by)


async def test_a_caller_finds_a_question_and_answers_it_once(stage: Stage) -> None:
    question = await _asked_by_caller(stage, "asked")
    waiting = await stage.edge.send("GET", "/v1/questions", by=PORTAL)
    (seen,) = waiting.body["questions"]
    assert (seen["question_id"], seen["question"], seen["person"]) == (question, "who signs for them?", "boris")
    for _ in range(2):
        replied = await _reply(stage, question)
        assert (replied.status, replied.body) == (200, {"question_id": question}), "sent again, it gets the same"
    (kept,) = rows(stage.dsn, "SELECT answer FROM questions WHERE question_id = %s", question)
    assert (kept["answer"]["by"], kept["answer"]["kind"]) == (PORTAL, "agent")
    assert kept["answer"]["text"] == "their two directors"
    assert (await stage.edge.send("GET", "/v1/questions", by=PORTAL)).body == {"questions": []}
    assert is_problem(await _reply(stage, question, ref="another"), 404, "no open question")
    assert is_problem(await _reply(stage, question, text="nobody"), 409, "used before")


async def test_a_question_about_what_others_brought_in_is_not_there(stage: Stage) -> None:
    question = await _asked_by_caller(stage, "foreign")
    assert (await stage.edge.send("GET", "/v1/questions", by="servicenow")).body == {"questions": []}
    assert is_problem(await _reply(stage, question, by="servicenow"), 404, "no open question")
    assert (await _reply(stage, question)).status == 200


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        ({"text": ""}, 422, "text"),
        ({"text": "  "}, 422, "in a few words"),
        ({"text": "x" * 2001}, 422, "text"),
        ({"more": 1}, 422, "more"),
    ],
)
async def test_what_is_no_answer_is_refused_and_changes_nothing(
    stage: Stage, sent: dict[str, Any], status: int, says: str
) -> None:
    question = await _asked_by_caller(stage, f"wrong {sent}"[:40])
    assert is_problem(await _reply(stage, question, **sent), status, says)
    (kept,) = rows(stage.dsn, "SELECT answer FROM questions WHERE question_id = %s", question)
    assert kept["answer"] is None
