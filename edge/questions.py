"""Questions over HTTP: what those who decide ask a caller about what it asked for, and its answers."""

from datetime import datetime
from typing import Annotated

from fastapi import FastAPI, Request
from pydantic import StringConstraints

from edge.callers import Signed
from edge.messages import Id, Message, Word, parse_body
from edge.problems import Problem
from runtime.model.votes import RefusalCode
from runtime.services.caller_acts import QuestionApi

_REFUSED = {
    RefusalCode.FAILING: (503, "this is recorded, but could not be applied just now; it is tried again"),
    RefusalCode.NOT_IN_DIRECTORY: (403, "the caller is not in the directory"),
    RefusalCode.UNKNOWN: (404, "there is no such question"),
    RefusalCode.CLOSED: (409, "what it was asked about is decided"),
    RefusalCode.EXPIRED: (409, "the time of what it was asked about has run out"),
    RefusalCode.NO_QUESTION: (409, "it was answered before"),
    RefusalCode.REASON_MISSING: (422, "text: an answer is needed, in a few words"),
    RefusalCode.NOT_ASKED: (404, "there is no such question"),
}


class ReplyIn(Message):
    """An answer. `ref` is the sender's own: the same ref is applied once."""

    ref: Word
    text: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class QuestionOut(Message):
    """A question about what the caller asked for."""

    question_id: str
    run_id: str
    step: str
    approval_id: str
    person: str
    question: str
    asked_at: datetime


class QuestionsOut(Message):
    """The open questions, the oldest first; 200 at most."""

    questions: list[QuestionOut]


class ReplyOut(Message):
    """What was answered."""

    question_id: str


def add_questions(app: FastAPI, desk: QuestionApi, signed: Signed) -> None:
    """Add the routes; `signed` returns the caller and its body. A caller answers for itself alone."""

    @app.get("/v1/questions")
    async def waiting(request: Request) -> QuestionsOut:
        caller, _ = await signed(request)
        return QuestionsOut(questions=[QuestionOut(**row) for row in await desk.waiting(caller.id)])

    @app.post("/v1/questions/{question_id}/answer")
    async def answer(question_id: Id, request: Request) -> ReplyOut:
        caller, body = await signed(request)
        sent = parse_body(ReplyIn, body)
        try:
            facts = await desk.reply(caller.id, sent.ref, question_id, sent.text)
        except LookupError as error:
            raise Problem(404, str(error)) from error
        if not facts["counted"]:
            raise Problem(*_REFUSED.get(facts["code"], (409, "this does not count")))
        return ReplyOut(question_id=question_id)
