"""Questions of those who decide to whoever asked, and what they are answered: on record, on the card, in its thread."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from receipts.canonical import digest
from receipts.chain import QUESTION_ANSWERED, QUESTION_ASKED, Actor
from runtime.approvals.answering import Asker, refuse_ask, refuse_reply
from runtime.approvals.standing_in import way_to_vote
from runtime.inbox.answerers import answerers_of
from runtime.inbox.answers_standing import Answer, answered, heard, heard_from_caller
from runtime.inbox.matter import Matter
from runtime.inbox.pausing import move_clock
from runtime.inbox.vote_refusals import accounts_of, refuse
from runtime.model.answering import AskPayload, ReplyPayload
from runtime.model.messages import QuestionAnswered, QuestionAsked
from runtime.model.notification import Applied
from runtime.model.questions import Answerers, Question, answer_of
from runtime.model.votes import CardAct, Refusal, RefusalCode, Via, VoteVerdict
from runtime.outbox import messages
from runtime.store import directory
from runtime.store.delegations import stand_ins_of
from runtime.store.questions import answer_question, insert_question, questions_of


async def apply_ask(matter: Matter, payload: AskPayload) -> Applied:
    """Put a question to whoever asked, or refuse that; either way the run's chain says so."""
    answer = await heard(matter, payload, CardAct.ASK, payload.stamp)
    if isinstance(answer, Applied):
        return answer
    if refusal := await _refusal(answer, payload):
        return await refuse(answer.tx, answer.approval, payload, CardAct.ASK, refusal)
    return await _ask(matter, answer, payload)


async def _refusal(answer: Answer, payload: AskPayload) -> Refusal | None:
    tx, person = answer.tx, answer.person
    if answer.approval.kind.outlives_run:
        return Refusal(RefusalCode.IN_DOUBT)
    accounts = await accounts_of(tx, person.id, payload)
    stand_ins = await stand_ins_of(tx.conn, tx.tenant, person.id, tx.now)
    way = way_to_vote(answer.ballot, person, accounts, stand_ins, VoteVerdict.APPROVE, None, tx.now)
    asked = await questions_of(tx.conn, answer.approval.approval_id)
    answerers = await _answerers(answer)
    return refuse_ask(way if isinstance(way, Refusal) else None, person.id, asked, answerers, payload.reason)


async def _answerers(answer: Answer) -> Answerers:
    tx = answer.tx
    return await answerers_of(tx.conn, tx.tenant, tx.row, (await tx.definition()).questions_to, answer.person.id)


async def _ask(matter: Matter, answer: Answer, payload: AskPayload) -> Applied:
    tx, approval, person = answer.tx, answer.approval, answer.person
    words = (await tx.privacy()).text(payload.reason.strip())
    asked = await questions_of(tx.conn, approval.approval_id)
    question = Question(matter.engine.new_id("qst"), person.id, person.name, words, tx.now)
    await insert_question(tx.conn, tx.tenant, approval.approval_id, question)
    moved = await move_clock(answer, asked, [*asked, question])
    _note(answer, QUESTION_ASKED, Actor(id=person.id, kind="person"), question, digest(question.asked()), moved)
    answerers = await _answerers(answer)
    said = QuestionAsked(
        run=await messages.run_name(tx),
        approval_id=approval.approval_id,
        question_id=question.question_id,
        person=person.name,
        question=words,
        mention=list(answerers.users),
    )
    name = f"asked:{question.question_id}"
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, said)
    await messages.tell_people(matter.engine, tx, answerers.users, name, said, approval.approval_id)
    return await answered(matter, answer)


async def apply_reply(matter: Matter, payload: ReplyPayload) -> Applied:
    """Take in what whoever asked says to a question, or refuse it; either way the run's chain says so."""
    hears = heard_from_caller if payload.via is Via.EDGE else heard
    answer = await hears(matter, payload, CardAct.REPLY, "")
    if isinstance(answer, Applied):
        return answer
    asked = await questions_of(answer.tx.conn, answer.approval.approval_id)
    question = next((one for one in asked if one.question_id == payload.question_id), None)
    asker = await _asker(answer, payload)
    refusal = refuse_reply(answer.ballot, asker, question, payload.text, answer.tx.now)
    if refusal or question is None:
        return await refuse(
            answer.tx, answer.approval, payload, CardAct.REPLY, refusal or Refusal(RefusalCode.NO_QUESTION)
        )
    group = "" if asker.id in (answer.ballot.requested_by, answer.ballot.submitted_by) else asker.group
    return await _reply(matter, answer, payload, question, asked, group)


async def _asker(answer: Answer, payload: ReplyPayload) -> Asker:
    """Return who answers: a program has no accounts, and is in no group."""
    tx, person = answer.tx, answer.person
    accounts = [] if payload.via is Via.EDGE else await accounts_of(tx, person.id, payload)
    group = (await tx.definition()).questions_to
    return Asker(person.id, frozenset(accounts), group if group in person.groups else "")


async def _reply(
    matter: Matter, answer: Answer, payload: ReplyPayload, question: Question, asked: Sequence[Question], group: str
) -> Applied:
    tx, approval, person = answer.tx, answer.approval, answer.person
    words = (await tx.privacy()).text(payload.text.strip())
    by = Actor(id=person.id, kind="agent" if payload.via is Via.EDGE else "person")
    said = answer_of(by.id, by.kind, person.name, words, tx.now, group)
    await answer_question(tx.conn, question.question_id, said)
    question = replace(question, answer=said)
    now = [question if one.question_id == question.question_id else one for one in asked]
    _note(answer, QUESTION_ANSWERED, by, question, digest(said), await move_clock(answer, asked, now))
    accounts = await directory.accounts_of(tx.conn, tx.tenant, question.person)
    told = QuestionAnswered(person=person.name, answer=words, mention=[user for _, user in accounts])
    name = f"answered:{question.question_id}"
    await messages.tell_thread(matter.engine, tx, approval.approval_id, name, told)
    return await answered(matter, answer)


def _note(answer: Answer, event: str, actor: Actor, question: Question, said: str, moved: Mapping[str, Any]) -> None:
    approval = answer.approval
    facts = {"approval_id": approval.approval_id, "question_id": question.question_id, "digest": said}
    answer.tx.leaf(
        event,
        {**facts, "person": question.person, **moved},
        actor=actor,
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
