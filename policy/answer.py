"""OPA's reply, parsed strictly: what is not exactly an answer is unavailable, and never an allow.

Whoever edited what is asked for does not sign it unless policy says so: an answer that leaves that open is none.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

import isodate
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from policy.contract import (
    CONFIG_PATH,
    LONGEST_RULES,
    MOST_GROUPS_EACH,
    Answer,
    Outcome,
    PolicyUnavailableError,
    Question,
    Requirement,
    SignerClass,
    Text,
)

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
    version: _Name
    bundles: dict[str, _Source] = Field(min_length=1, max_length=1)


class _Reply(_Envelope):
    decision_id: _Name
    provenance: _Provenance
    result: Any


@dataclass(frozen=True)
class Reply:
    """What a rule came to, the decision id, the server's version, and the one bundle that gave it."""

    result: object
    decision_id: str
    version: str
    bundle: str
    revision: str


def parse_reply(document: object) -> Reply:
    """Parse what OPA says about a rule, or raise PolicyUnavailableError.

    1. It is an object with a decision id, provenance and a result: undefined rules give no result.
    2. The server is recent enough.
    3. Exactly one bundle gave the answer, and it names its revision.
    """
    try:
        reply = _Reply.model_validate(document)  # 1, 3
    except ValidationError as error:
        raise PolicyUnavailableError(first_problem(error)) from error
    if parse_version(reply.provenance.version) < OLDEST_OPA:  # 2
        raise PolicyUnavailableError(f"OPA {reply.provenance.version} is older than {dotted(OLDEST_OPA)}")
    ((bundle, source),) = reply.provenance.bundles.items()
    return Reply(reply.result, reply.decision_id, reply.provenance.version, bundle, source.revision)


def parse_answers(result: object, asked: int) -> list[Answer | PolicyUnavailableError]:
    """Parse the answers to so many questions, each by itself: one that is wrong makes that one unavailable.

    Raise PolicyUnavailableError where it is no set of answers to them: nobody could say what belongs to what.
    """
    if not isinstance(result, dict):
        raise PolicyUnavailableError(f"result: not answers by their places but {type(result).__name__}")
    places = [str(place) for place in range(asked)]
    if strange := sorted(set(result).difference(places)):
        raise PolicyUnavailableError(f"result.{strange[0]}: this was not asked")
    return [_answer_or_not(result.get(place), f"result.{place}") for place in places]


def _answer_or_not(document: object, name: str) -> Answer | PolicyUnavailableError:
    try:
        return parse_answer(document, name)
    except PolicyUnavailableError as error:
        return error


def parse_answer(document: object, name: str) -> Answer:
    """Parse the answer to one question, or raise PolicyUnavailableError that tells of it by `name`.

    It has every member of an answer, and no other; requirement and outcome agree, the rules that it names are those of
    its reasons, its times are durations in their order, and not too many groups have to sign each.
    """
    if document is None:
        raise PolicyUnavailableError(f"{name}: undefined")
    try:
        answer = Answer.model_validate_json(json.dumps(document))
    except ValidationError as error:
        raise PolicyUnavailableError(f"{name}.{first_problem(error)}") from error
    _check(answer, name)
    return answer


def parse_flaws(result: object) -> list[str]:
    """Parse what is wrong with a tenant's configuration, or raise PolicyUnavailableError."""
    if not isinstance(result, list) or not all(isinstance(flaw, str) for flaw in result):
        raise PolicyUnavailableError("result: not a list of flaws")
    return result


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
    if answer.execute and answer.outcome is not Outcome.ALLOW:
        raise PolicyUnavailableError(f"{name}: outcome {answer.outcome} with execute")
    if answer.execute:
        _lasts(answer.execute.within, f"{name}.execute.within")
    if answer.names is not None and answer.outcome is not Outcome.DENY:
        raise PolicyUnavailableError(f"{name}: outcome {answer.outcome} with names")
    if answer.budgets is not None:
        _check_budgets(answer, f"{name}.budgets")
    if answer.rules is not None:
        _check_rules(answer, answer.rules, f"{name}.rules")
    if requirement is None:
        return
    _check_times(requirement, f"{name}.requirement")
    _check_each(requirement, f"{name}.requirement")
    for place, one in enumerate(requirement.classes):
        _check_each(one, f"{name}.requirement.classes.{place}")
        _check_asked(one.groups, requirement, f"{name}.requirement.classes.{place}.groups")
    _check_asked(requirement.veto, requirement, f"{name}.requirement.veto")


def _check_each(asked: Requirement | SignerClass, name: str) -> None:
    if asked.all_groups and len(asked.groups) > MOST_GROUPS_EACH:
        raise PolicyUnavailableError(f"{name}.groups: at most {MOST_GROUPS_EACH} can each have to sign")


def _check_asked(groups: Sequence[str], requirement: Requirement, name: str) -> None:
    """Groups that nobody asks could neither sign nor veto."""
    if groups and (strange := set(groups).difference(requirement.electorate)):
        raise PolicyUnavailableError(f"{name}: {min(strange)!r} is in neither groups nor escalate_to")


def _check_budgets(answer: Answer, name: str) -> None:
    """What is allowed takes of them, and each is there once, in order."""
    if answer.outcome is not Outcome.ALLOW:
        raise PolicyUnavailableError(f"{name}: outcome {answer.outcome} takes of no budget")
    said = [budget.name for budget in answer.budgets or ()]
    if said != sorted(set(said)):
        raise PolicyUnavailableError(f"{name}: not each once, in order")


def _check_rules(answer: Answer, rules: Sequence[str], name: str) -> None:
    """Each stands once, in order; their codes are those of the reasons; configuration is behind a requirement alone."""
    if list(rules) != sorted(set(rules)):
        raise PolicyUnavailableError(f"{name}: not each once, in order")
    if sum(len(rule.encode()) for rule in rules) > LONGEST_RULES:
        raise PolicyUnavailableError(f"{name}: more than {LONGEST_RULES} bytes")
    of_config = {rule for rule in rules if rule.startswith(CONFIG_PATH)}
    if of_config and answer.requirement is None:
        raise PolicyUnavailableError(f"{name}: {min(of_config)} states no requirement here")
    codes = {rule.partition("#")[2] for rule in rules if rule not in of_config}
    if differing := sorted(codes ^ {reason.code for reason in answer.reasons}):
        raise PolicyUnavailableError(f"{name}: reasons and rules differ in the code {differing[0]!r}")


def _check_times(requirement: Requirement, name: str) -> None:
    """Each of those next in line comes after the one before, and while there is still time."""
    end = _lasts(requirement.expires_in, f"{name}.expires_in")
    if requirement.execute:
        _lasts(requirement.execute.within, f"{name}.execute.within")
    if break_glass := requirement.break_glass:
        _lasts(break_glass.within, f"{name}.break_glass.within")
        _lasts(break_glass.review_within, f"{name}.break_glass.review_within")
    if requirement.pause_on_question is not None:
        _lasts(requirement.pause_on_question, f"{name}.pause_on_question")
    earlier = timedelta(0)
    for place, entry in enumerate(requirement.escalate_to):
        at = f"{name}.escalate_to.{place}.after"
        after = _lasts(entry.after, at)
        if not earlier < after < end:
            raise PolicyUnavailableError(f"{at}: {entry.after!r} is not later than the one before and before the end")
        earlier = after


def _lasts(text: str, name: str) -> timedelta:
    try:
        duration = isodate.parse_duration(text)
    except (ValueError, OverflowError):
        duration = None
    # Months and years have no fixed length, and come back as another type.
    if not isinstance(duration, timedelta) or not timedelta(0) < duration <= LONGEST_WAIT:
        raise PolicyUnavailableError(f"{name}: {text!r} is no duration between zero and a year")
    return duration


def first_problem(error: ValidationError) -> str:
    """Say in one line where the first problem is, and what it is."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in problem['loc']) or 'reply'}: {problem['msg']}"


def expect_editor_apart(question: Question, answer: Answer) -> None:
    """Raise PolicyUnavailableError where people are asked, and nothing keeps who edited the effect from signing it."""
    asked, edited = answer.requirement, question.edited
    if asked is None or edited is None or asked.editors_may_sign:
        return
    if left := sorted(set(edited.by).difference(asked.exclude)):
        raise PolicyUnavailableError(f"requirement.exclude: {', '.join(left)} edited it, and may not sign it")
