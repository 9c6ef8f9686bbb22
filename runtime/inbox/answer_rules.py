"""Rules for answers: whether a completion or progress counts for a wait. Values in, values out.

1. Callers answer for what other systems do; people, the clock and signals have their own ways in. Of what people do,
   callers may report progress; no token went out for that.
2. The caller may answer for the wait's verb.
3. The token that went out with the request comes back, unless the verb waives it; a token that comes is the right one.
4. The result fits the verb's output schema, unless the verb has the step fail over one that does not; the data of
   progress is small enough to be kept.
"""

import hmac
from dataclasses import dataclass
from typing import Any

from runtime.definitions.model import Definition, Verb
from runtime.model.limits import json_fault
from runtime.model.payloads import Answer, AnswerCode, CompletionPayload, ProgressPayload
from runtime.model.states import WaitType
from runtime.model.steps import ParamsError
from runtime.model.wait import Correlate, NamedWait, OnInvalid, Wait
from runtime.planning.step_params import fits

MOST_BYTES = 4096
"""Of the data of one word of progress, as canonical JSON."""
_BY_PEOPLE = (WaitType.HUMAN_TASK, WaitType.APPROVAL)


@dataclass(frozen=True)
class AnswerRefusal:
    """Why an answer does not count for a wait, which goes on."""

    code: AnswerCode
    reason: str


def refuse_answer(wait: Wait, definition: Definition, answer: Answer) -> AnswerRefusal | None:
    """Return why the answer does not count, or None."""
    if refusal := _not_by_callers(wait, answer):  # 1
        return refusal
    verb = definition.verb_of(wait.step)
    if wait.type is WaitType.HUMAN_TASK:
        return _not_theirs(verb, answer) or _unfit(verb, answer)
    if refusal := _not_theirs(verb, answer):  # 2
        return refusal
    if answer.token is None and wait.correlate is Correlate.BY_TOKEN:  # 3
        reason = "the token that came with the request is missing; send it back beside the correlation_key"
        return AnswerRefusal(AnswerCode.NO_TOKEN, reason)
    if answer.token is not None and not is_token_of(wait, answer.token):
        return AnswerRefusal(AnswerCode.OTHER_TOKEN, "the token is that of another request")
    return _unfit(verb, answer)  # 4


def _not_by_callers(wait: Wait, answer: Answer) -> AnswerRefusal | None:
    if wait.type is WaitType.EXTERNAL or (wait.type is WaitType.HUMAN_TASK and isinstance(answer, ProgressPayload)):
        return None
    if wait.type in _BY_PEOPLE:
        return AnswerRefusal(AnswerCode.BY_PEOPLE, f"step {wait.step} is answered by people, not by callers")
    if wait.type is WaitType.SIGNAL:
        return AnswerRefusal(AnswerCode.BY_SIGNAL, f"step {wait.step} waits for a signal to its run, not for an answer")
    what = "a run to end" if wait.type is WaitType.CHILD_RUN else "time to pass"
    return AnswerRefusal(AnswerCode.BY_CLOCK, f"step {wait.step} waits for {what}, not for an answer")


def _not_theirs(verb: Verb, answer: Answer) -> AnswerRefusal | None:
    if verb.name in answer.verbs:
        return None
    return AnswerRefusal(AnswerCode.NOT_YOURS, f"this caller may not answer for {verb.name}")


def _unfit(verb: Verb, answer: Answer) -> AnswerRefusal | None:
    if isinstance(answer, ProgressPayload):
        wrong = data_fault(answer.data)
    else:
        wrong = content_fault(verb, answer) if verb.on_invalid is OnInvalid.REFUSE else None
    return None if wrong is None else AnswerRefusal(AnswerCode.INVALID, wrong)


def data_fault(data: dict[str, Any] | None) -> str | None:
    """Return why data cannot be kept with a wait, or None."""
    if data is None:
        return None
    wrong = json_fault(data, most=MOST_BYTES)
    return None if wrong is None else f"data: {wrong}"


def carries_token(wait: NamedWait, answer: Answer) -> bool:
    """Return whether the answer carries the wait's token."""
    return answer.token is not None and is_token_of(wait, answer.token)


def is_token_of(wait: Wait | NamedWait, token: str) -> bool:
    """Return whether the token is the wait's, in a time that tells nothing."""
    return hmac.compare_digest(token.encode(), wait.token.encode())


def content_fault(verb: Verb, answer: CompletionPayload) -> str | None:
    """Return the first place where a result does not fit, or None. A failure has no result."""
    if answer.outcome == "failed":
        return None
    if wrong := json_fault(answer.result):
        return f"result: {wrong}"
    try:
        fits(verb.output_schema, answer.result, "result")
    except ParamsError as error:
        return str(error)
    return None
