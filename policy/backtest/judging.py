"""Judging: a recorded decision is compared with the candidate's answer and gets the class of its worst difference."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from policy.answer import expect_editor_apart, parse_answer
from policy.contract import Answer, PolicyUnavailableError, Question
from policy.differences import Difference, DifferenceClass, differences

NO_QUESTION, NO_ANSWER_ON_RECORD, NO_NAMES = "question.invalid", "answer.invalid", "names.not_recorded"
"""Why a decision cannot be replayed: its question or answer does not parse as recorded, or does not say who is named in
the effect, which the candidate has to know."""


class Decision(BaseModel):
    """A decision on record. `seq` is the number of its leaf in the audit chain of its run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decision_id: str
    run_id: str
    seq: int
    tenant: str
    operation: str
    at: str
    policy_digest: str


class RecordedDecision(Decision):
    """A decision with its question and answer, as recorded."""

    question: Any
    answer: Any


class JudgedDecision(Decision):
    """A decision with its class and differences. `why` says why it was not replayed, or has no answer.

    `rules` are the reason codes that only one of the two answers has; if there are none, the codes that both have.
    """

    kind: DifferenceClass
    rules: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    why: str = ""


def question_of(decision: RecordedDecision) -> Question | None:
    """Return the recorded question, or None if it does not parse."""
    try:
        return Question.model_validate_json(json.dumps(decision.question))
    except ValidationError:
        return None


def judge(decision: RecordedDecision, question: Question | None, document: Any, fault: str = "") -> JudgedDecision:
    """Judge a decision by the candidate's answer (`document`); `fault` says why there is none."""
    if question is None:
        return _judged(decision, DifferenceClass.NOT_REPLAYABLE, why=NO_QUESTION)
    try:
        recorded = parse_answer(decision.answer, "answer")
    except PolicyUnavailableError:
        return _judged(decision, DifferenceClass.NOT_REPLAYABLE, why=NO_ANSWER_ON_RECORD)
    try:
        candidate = _answer(question, document, fault)
    except PolicyUnavailableError as error:
        return _judged(decision, DifferenceClass.NO_ANSWER, rules=_codes(recorded), why=str(error))
    if candidate.names:
        return _judged(decision, DifferenceClass.NOT_REPLAYABLE, why=NO_NAMES)
    found = differences(recorded, candidate)
    kind = found[0].kind if found else DifferenceClass.UNCHANGED
    return _judged(decision, kind, rules=_rules(recorded, candidate), differences=tuple(found))


def _answer(question: Question, document: Any, fault: str) -> Answer:
    """Parse the candidate's answer as the gate does, or raise PolicyUnavailableError."""
    if fault:
        raise PolicyUnavailableError(fault)
    answer = parse_answer(document, "answer")
    expect_editor_apart(question, answer)
    return answer


def _judged(decision: RecordedDecision, kind: DifferenceClass, **more: Any) -> JudgedDecision:
    return JudgedDecision(**decision.model_dump(include=set(Decision.model_fields)), kind=kind, **more)


def _codes(answer: Answer) -> tuple[str, ...]:
    return tuple(sorted({reason.code for reason in answer.reasons}))


def _rules(recorded: Answer, candidate: Answer) -> tuple[str, ...]:
    was, now = set(_codes(recorded)), set(_codes(candidate))
    return tuple(sorted(was ^ now or was))
