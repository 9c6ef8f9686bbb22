"""OPA's reply, parsed strictly: what is not exactly an answer is unavailable, and never an allow."""

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import isodate
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from policy.model import MOST_GROUPS_EACH, Answer, Outcome, PolicyUnavailableError, Text

# Older servers let a crafted path select another rule (CVE-2025-46569).
OLDEST_OPA = (1, 4, 0)
LONGEST_WAIT = timedelta(days=366)

_Name = Annotated[Text, Field(min_length=1)]


class _Envelope(BaseModel):
    """Around the answer OPA may say more than we ask for."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Source(_Envelope):
    revision: _Name


class _Provenance(_Envelope):
    version: str
    bundles: dict[str, _Source] = Field(min_length=1, max_length=1)


class _Reply(_Envelope):
    decision_id: _Name
    provenance: _Provenance
    result: Answer


@dataclass(frozen=True)
class Reply:
    """An answer, its decision id, and the one bundle that gave it."""

    answer: Answer
    decision_id: str
    bundle: str
    revision: str


def parse_reply(document: object) -> Reply:
    """Parse OPA's reply to one question, or raise PolicyUnavailableError.

    1. It is an object with a decision id, provenance and a result: undefined rules give no result.
    2. The server is recent enough.
    3. Exactly one bundle gave the answer, and it names its revision.
    4. The result has every member of an answer, and no other.
    5. Requirement and outcome agree, the time limit is a duration, and not too many groups have to sign each.
    """
    try:
        reply = _Reply.model_validate_json(json.dumps(document))  # 1, 3, 4
    except ValidationError as error:
        raise PolicyUnavailableError(first_problem(error)) from error
    if parse_version(reply.provenance.version) < OLDEST_OPA:  # 2
        raise PolicyUnavailableError(f"OPA {reply.provenance.version} is older than {dotted(OLDEST_OPA)}")
    _check(reply.result, "result")  # 5
    ((bundle, source),) = reply.provenance.bundles.items()
    return Reply(reply.result, reply.decision_id, bundle, source.revision)


def parse_answer(document: object) -> Answer:
    """Parse the answer to one question as it stands by itself, or raise PolicyUnavailableError."""
    if document is None:
        raise PolicyUnavailableError("answer: undefined")
    try:
        answer = Answer.model_validate_json(json.dumps(document))
    except ValidationError as error:
        raise PolicyUnavailableError(f"answer.{first_problem(error)}") from error
    _check(answer, "answer")
    return answer


def parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version such as 1.22.0 or 1.22.0-rc1; of anything else, the lowest."""
    numbers = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", text, re.ASCII)
    return tuple(int(number) for number in numbers.groups()) if numbers else (0,)


def dotted(version: tuple[int, ...]) -> str:
    """Write a version as people do."""
    return ".".join(str(number) for number in version)


def _check(answer: Answer, name: str) -> None:
    requirement = answer.requirement
    if (requirement is not None) != (answer.outcome is Outcome.NEEDS_APPROVAL):
        there = "without" if requirement is None else "with"
        raise PolicyUnavailableError(f"{name}: outcome {answer.outcome} {there} a requirement")
    if requirement is None:
        return
    if not _is_wait(requirement.expires_in):
        raise PolicyUnavailableError(
            f"{name}.requirement.expires_in: {requirement.expires_in!r} is no duration between zero and a year"
        )
    if requirement.all_groups and len(requirement.groups) > MOST_GROUPS_EACH:
        raise PolicyUnavailableError(f"{name}.requirement.groups: at most {MOST_GROUPS_EACH} can each have to sign")


def _is_wait(text: str) -> bool:
    try:
        duration = isodate.parse_duration(text)
    except (ValueError, OverflowError):
        return False
    # Months and years have no fixed length, and come back as another type.
    return isinstance(duration, timedelta) and timedelta(0) < duration <= LONGEST_WAIT


def first_problem(error: ValidationError) -> str:
    """Say in one line where the first problem is, and what it is."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in problem['loc']) or 'reply'}: {problem['msg']}"
