"""Questions of approvers to whoever requested the run, and the replies: on record, on the card, in its thread.

Whoever requested or submitted the run can answer, else a group, or a program over HTTP. The clock of a request stands
still while a question is open, where policy's requirement says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from receipts.canonical import digest
from receipts.chain import QUESTION_ANSWERED, QUESTION_ASKED, Actor
from receipts.fields import timestamp
from runtime.approvals.request_rules import Asker, refuse_ask, refuse_reply
from runtime.approvals.rules import way_to_vote
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.vote_refusals import (
    RequestAct,
    accept_act,
    accounts_of,
    load_act,
    load_act_of_caller,
    record_refusal,
)
from runtime.model.messages import QuestionAnswered, QuestionAsked
from runtime.model.notification import ApplyResult
from runtime.model.payloads import AskPayload, ReplyPayload
from runtime.model.questions import Answerers, Question, answer_of, pause_so_far
from runtime.model.votes import CardAct, Refusal, RefusalCode, Via, VoteVerdict
from runtime.model.wait import Wait
from runtime.outbox import messages
from runtime.store import approvals, directory, waits
from runtime.store.database.pool import Conn
from runtime.store.delegations import stand_ins_of
from runtime.store.questions import answer_question, insert_question, questions_of


async def answerers_of(conn: Conn, tenant: str, run: Mapping[str, Any], group: str, asked_by: str) -> Answerers:
    """Return whom a question calls, and the programs that may fetch it.

    `run` is the run's row, `group` the one that its runbook names for questions; who asked is not called.
    """
    names, users, programs = list[str](), list[str](), list[str]()
    for actor_id in dict.fromkeys((run["requested_by"], run["submitted_by"])):
        known = await directory.actor(conn, tenant, actor_id)
        if known is None:
            continue
        if known["kind"] != "person":
            programs.append(known["name"])
        elif not users and (accounts := await directory.reached_accounts_of(conn, tenant, actor_id)):
            names.append(known["name"])
            users += [user for _, user in accounts]
    if group and not users and (members := await directory.reached_members_of(conn, tenant, group, asked_by)):
        return Answerers((), tuple(members), tuple(programs), group)
    return Answerers(tuple(names), tuple(users), tuple(programs))


async def move_clock(answer: RequestAct, before: Sequence[Question], after: Sequence[Question]) -> dict[str, Any]:
    """Move the deadline and all that comes before it as the questions say; return what the leaf has to tell of that.

    A signal of the clock that was on its way is for a turn that is over.
    """
    longest = answer.approval.requirement.pauses
    by = pause_so_far(after, longest) - pause_so_far(before, longest)
    tx, approval = answer.tx, answer.approval
    wait = await waits.approval_wait(tx.conn, tx.run_id, approval.approval_id) if by else None
    if wait is None:
        return {}
    moved = _wait_moved(wait, by)
    await waits.turn(tx.conn, moved)
    await approvals.move_deadline(tx.conn, approval.approval_id, moved.deadline)
    return {"deadline": timestamp(moved.deadline)}


def _wait_moved(wait: Wait, by: timedelta) -> Wait:
    moments = [replace(moment, at=moment.at + by) for moment in wait.moments]
    return replace(wait, deadline=wait.deadline + by, moments=moments, turn=wait.turn + 1)


async def apply_ask(matter: NotificationContext, payload: AskPayload) -> ApplyResult:
    """Put a question to whoever asked, or refuse that; either way the run's chain says so."""
    answer = await load_act(matter, payload, CardAct.ASK, payload.stamp)
    if isinstance(answer, ApplyResult):
        return answer
    if refusal := await _refusal(answer, payload):
        return await record_refusal(answer.tx, answer.approval, payload, CardAct.ASK, refusal)
    return await _ask(matter, answer, payload)


async def _refusal(answer: RequestAct, payload: AskPayload) -> Refusal | None:
    tx, person = answer.tx, answer.person
    if answer.approval.kind.outlives_run:
        return Refusal(RefusalCode.IN_DOUBT)
    accounts = await accounts_of(tx, person.id, payload)
    stand_ins = await stand_ins_of(tx.conn, tx.tenant, person.id, tx.now)
    way = way_to_vote(answer.ballot, person, accounts, stand_ins, VoteVerdict.APPROVE, None, tx.now)
    asked = await questions_of(tx.conn, answer.approval.approval_id)
    answerers = await _answerers(answer)
    return refuse_ask(way if isinstance(way, Refusal) else None, person.id, asked, answerers, payload.reason)


async def _answerers(answer: RequestAct) -> Answerers:
    tx = answer.tx
    return await answerers_of(tx.conn, tx.tenant, tx.row, (await tx.definition()).questions_to, answer.person.id)


async def _ask(matter: NotificationContext, answer: RequestAct, payload: AskPayload) -> ApplyResult:
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
    return await accept_act(matter, answer)


async def apply_reply(matter: NotificationContext, payload: ReplyPayload) -> ApplyResult:
    """Take in what whoever asked says to a question, or refuse it; either way the run's chain says so."""
    hears = load_act_of_caller if payload.via is Via.EDGE else load_act
    answer = await hears(matter, payload, CardAct.REPLY, "")
    if isinstance(answer, ApplyResult):
        return answer
    asked = await questions_of(answer.tx.conn, answer.approval.approval_id)
    question = next((one for one in asked if one.question_id == payload.question_id), None)
    asker = await _asker(answer, payload)
    refusal = refuse_reply(answer.ballot, asker, question, payload.text, answer.tx.now)
    if refusal or question is None:
        return await record_refusal(
            answer.tx, answer.approval, payload, CardAct.REPLY, refusal or Refusal(RefusalCode.NO_QUESTION)
        )
    group = "" if asker.id in (answer.ballot.requested_by, answer.ballot.submitted_by) else asker.group
    return await _reply(matter, answer, payload, question, asked, group)


async def _asker(answer: RequestAct, payload: ReplyPayload) -> Asker:
    """Return who answers: a program has no accounts, and is in no group."""
    tx, person = answer.tx, answer.person
    accounts = [] if payload.via is Via.EDGE else await accounts_of(tx, person.id, payload)
    group = (await tx.definition()).questions_to
    return Asker(person.id, frozenset(accounts), group if group in person.groups else "")


async def _reply(
    matter: NotificationContext,
    answer: RequestAct,
    payload: ReplyPayload,
    question: Question,
    asked: Sequence[Question],
    group: str,
) -> ApplyResult:
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
    return await accept_act(matter, answer)


def _note(
    answer: RequestAct, event: str, actor: Actor, question: Question, said: str, moved: Mapping[str, Any]
) -> None:
    approval = answer.approval
    facts = {"approval_id": approval.approval_id, "question_id": question.question_id, "digest": said}
    answer.tx.leaf_about(approval, event, {**facts, "person": question.person, **moved}, actor=actor)
