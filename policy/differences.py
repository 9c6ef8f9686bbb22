"""Differences between two answers to one question, each with a class; classes are ordered by risk.

The riskiest come first: more is allowed, fewer or different people approve, terms are weaker. Then come stricter
answers and changed wording.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import zip_longest
from typing import Any, NamedTuple

import isodate

from policy.contract import Answer, BreakGlass, BudgetUse, NextInLine, Outcome, Reason, Requirement, SignerClass
from policy.execution_windows import ExecuteWhen
from receipts.redaction import MARKER


class DifferenceClass(StrEnum):
    """How a candidate policy changes a decision, riskiest first.

    `no-answer`: the gate would accept no answer of the candidate, so the effect would not be performed.
    `not-replayable`: the recorded question or answer does not parse.
    """

    DENY_TO_ALLOW = "deny-to-allow"
    APPROVAL_TO_ALLOW = "approval-to-allow"
    DENY_TO_APPROVAL = "deny-to-approval"
    FEWER_SIGNATURES = "fewer-signatures"
    OTHER_PEOPLE = "other-people"
    WEAKER_TERMS = "weaker-terms"
    OTHER_OBLIGATIONS = "other-obligations"
    NO_ANSWER = "no-answer"
    STRICTER = "stricter"
    REASONS_ONLY = "reasons-only"
    UNCHANGED = "unchanged"
    NOT_REPLAYABLE = "not-replayable"

    @property
    def badness(self) -> int:
        """Return the position in the order; 0 is the riskiest."""
        return _ORDER[self]


_ORDER = {one: place for place, one in enumerate(DifferenceClass)}
_LONGEST = 200
"""Characters of a value that people are shown."""


def shown_value(value: Any) -> str:
    """Return a value as people are shown it: JSON, cut off where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


FEWER, OTHER, WEAKER = (
    DifferenceClass.FEWER_SIGNATURES,
    DifferenceClass.OTHER_PEOPLE,
    DifferenceClass.WEAKER_TERMS,
)
STRICTER, REASONS = DifferenceClass.STRICTER, DifferenceClass.REASONS_ONLY


class Difference(NamedTuple):
    """A member of the answer that differs, with its recorded value and the candidate's, as JSON."""

    kind: DifferenceClass
    member: str
    recorded: Any
    candidate: Any


_OUTCOMES = {
    (Outcome.DENY, Outcome.ALLOW): DifferenceClass.DENY_TO_ALLOW,
    (Outcome.NEEDS_APPROVAL, Outcome.ALLOW): DifferenceClass.APPROVAL_TO_ALLOW,
    (Outcome.DENY, Outcome.NEEDS_APPROVAL): DifferenceClass.DENY_TO_APPROVAL,
}
"""Every other change of outcome is stricter."""
_TIERS = ("low", "medium", "high")


def differences(recorded: Answer, candidate: Answer) -> list[Difference]:
    """Return the differences between two answers to one question, riskiest first; empty if they mean the same."""
    found = [*_of_outcome(recorded, candidate), *_of_words(recorded, candidate)]
    if recorded.requirement and candidate.requirement:
        found += requirement_differences(recorded.requirement, candidate.requirement)
    return sorted(found, key=lambda one: (one.kind.badness, one.member))


def _of_outcome(was: Answer, now: Answer) -> Iterator[Difference]:
    if was.outcome is not now.outcome:
        kind = _OUTCOMES.get((was.outcome, now.outcome), STRICTER)
        yield Difference(kind, "outcome", str(was.outcome), str(now.outcome))
    if was.tier != now.tier:
        lower = WEAKER if _TIERS.index(now.tier) < _TIERS.index(was.tier) else STRICTER
        # of what is denied the tier is a word and no more
        yield Difference(REASONS if now.outcome is Outcome.DENY else lower, "tier", was.tier, now.tier)
    if was.outcome is now.outcome is Outcome.ALLOW:
        yield from _of_execute("execute", was.execute, now.execute)
        yield from _of_budgets(was, now)


def _of_budgets(was: Answer, now: Answer) -> Iterator[Difference]:
    """Yield for each budget how it differs: one that is gone, or leaves more, is weaker, and so is any other change."""
    before, after = ({budget.name: budget for budget in answer.budgets or ()} for answer in (was, now))
    for name in sorted(before.keys() | after.keys()):
        first, second = before.get(name), after.get(name)
        if first != second and not (first and second and _say_the_same_budget(first, second)):
            kind = STRICTER if second and (not first or _leaves_less(first, second)) else WEAKER
            yield Difference(kind, f"budgets.{name}", _json(first), _json(second))


def _say_the_same_budget(was: BudgetUse, now: BudgetUse) -> bool:
    return was.model_copy(update={"comment": now.comment}) == now


_OVER = ("deny", "wait", "approve")


def _leaves_less(was: BudgetUse, now: BudgetUse) -> bool:
    """Return whether a budget is the same one, of fewer effects and a smaller sum, and no milder where it is spent."""
    alike = all(getattr(was, member) == getattr(now, member) for member in ("by", "key", "per", "time_zone"))
    fewer = was.count is None or (now.count is not None and now.count <= was.count)
    smaller = was.sum is None or (
        now.sum is not None and now.currency == was.currency and Decimal(now.sum) <= Decimal(was.sum)
    )
    same_amount = was.sum is None or was.amount == now.amount
    return alike and fewer and smaller and same_amount and _OVER.index(now.over) <= _OVER.index(was.over)


def _of_words(was: Answer, now: Answer) -> Iterator[Difference]:
    before, after = (sorted((one.model_dump() for one in each.obligations), key=json.dumps) for each in (was, now))
    if before != after:
        yield Difference(DifferenceClass.OTHER_OBLIGATIONS, "obligations", before, after)
    if not _say_the_same(was.reasons, now.reasons):
        yield Difference(REASONS, "reasons", _plain(was.reasons), _plain(now.reasons))


def _say_the_same(was: list[Reason], now: list[Reason]) -> bool:
    """Compare reasons. Secrets in recorded sentences are redacted, and match any text."""
    pairs = zip(was, now, strict=False)
    return len(was) == len(now) and all(a.code == b.code and _is_sentence(a.msg, b.msg) for a, b in pairs)


def _is_sentence(told: str, said: str) -> bool:
    if MARKER not in told:
        return told == said
    return re.fullmatch(".*".join(map(re.escape, told.split(MARKER))), said, re.DOTALL) is not None


def _plain(reasons: list[Reason]) -> list[dict[str, Any]]:
    return [reason.model_dump(mode="json") for reason in reasons]


def requirement_differences(was: Requirement, now: Requirement) -> Iterator[Difference]:
    """Yield the differences between two requirements, in no particular order."""
    for member, judge in _MEMBERS.items():
        before, after = getattr(was, member), getattr(now, member)
        if before != after and (kind := judge(before, after)):
            yield Difference(kind, f"requirement.{member}", _json(before), _json(after))
    yield from _of_groups(was, now)
    yield from _of_execute("requirement.execute", was.execute, now.execute)


def _json(value: Any) -> Any:
    if isinstance(value, list):
        return [_json(one) for one in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


Judge = Callable[[Any, Any], DifferenceClass | None]


def _of_groups(was: Requirement, now: Requirement) -> Iterator[Difference]:
    """Yield differences in the groups, and in whether each of them must approve."""
    fewer = FEWER if _signatures(now) < _signatures(was) else OTHER
    if was.all_groups != now.all_groups:
        kind = STRICTER if now.all_groups else fewer
        yield Difference(kind, "requirement.all_groups", was.all_groups, now.all_groups)
    if gone_or_new := set(was.groups) ^ set(now.groups):
        new = gone_or_new & set(now.groups)
        if was.all_groups and now.all_groups:
            kind = STRICTER if new == gone_or_new else OTHER if new else fewer
        else:
            kind = OTHER if new else STRICTER
        yield Difference(kind, "requirement.groups", sorted(was.groups), sorted(now.groups))


def _signatures(requirement: Requirement) -> int:
    """Return the minimum number of signatures."""
    asked: list[Requirement | SignerClass] = [requirement, *requirement.classes]
    return max(map(_signatures_of, asked))


def _signatures_of(asked: Requirement | SignerClass) -> int:
    return max(asked.quorum, len(set(asked.groups)) if asked.all_groups else 1)


def _worst(*kinds: DifferenceClass | None) -> DifferenceClass | None:
    return min((kind for kind in kinds if kind), key=lambda kind: kind.badness, default=None)


def _more_is(kind: DifferenceClass) -> Judge:
    """Return a judge of numbers: a greater one has this class, a smaller one the opposite."""
    less = STRICTER if kind is not STRICTER else WEAKER
    return lambda before, after: None if before == after else kind if after > before else less


def _span(text: str) -> timedelta:
    duration: timedelta = isodate.parse_duration(text)  # what is on record, and what is answered, has been checked
    return duration


def _longer_is(kind: DifferenceClass) -> Judge:
    return lambda before, after: _more_is(kind)(_span(before), _span(after))


def _more_people_is(kind: DifferenceClass) -> Judge:
    """Return a judge of names: an added name has this class, a removed one is stricter."""
    return lambda before, after: kind if set(after) - set(before) else STRICTER if set(before) - set(after) else None


def _gone_is_weaker(before: Any, after: Any) -> DifferenceClass | None:
    return WEAKER if set(before) - set(after) else STRICTER if set(after) - set(before) else None


def _of_pause(before: str | None, after: str | None) -> DifferenceClass | None:
    return _more_is(WEAKER)(*(_span(text) if text else timedelta() for text in (before, after)))


def _of_line(before: list[NextInLine], after: list[NextInLine]) -> DifferenceClass | None:
    """Judge the escalation: another group may approve, or a group may approve sooner."""
    was, now = _asked_after(before), _asked_after(after)
    times = [_more_is(STRICTER)(was[group], now[group]) for group in was.keys() & now.keys()]
    return _worst(_more_people_is(OTHER)(was, now), *times)


def _asked_after(line: list[NextInLine]) -> dict[str, timedelta]:
    """Return the groups, each with the time after which it is asked first."""
    return {group: _span(entry.after) for entry in reversed(line) for group in entry.to}


def _of_classes(before: list[SignerClass], after: list[SignerClass]) -> DifferenceClass | None:
    """Judge classes: those that no new one is as strict as have others in their place, or are fewer signatures."""
    gone = [one for one in before if not any(_is_as_strict(one, other) for other in after)]
    new = [one for one in after if not any(_is_as_strict(other, one) for other in before)]
    if not gone:
        return None if all(any(_is_as_strict(one, other) for other in before) for one in after) else STRICTER
    pairs = zip_longest(*(sorted(map(_signatures_of, some), reverse=True) for some in (gone, new)), fillvalue=0)
    return FEWER if any(was > now for was, now in pairs) else OTHER


def _is_as_strict(was: SignerClass, now: SignerClass) -> bool:
    """Return whether all people who fulfil the new class fulfil the old one, too."""
    if now.quorum < was.quorum or not set(now.groups) <= set(was.groups):
        return False
    return not was.all_groups or (now.all_groups and set(now.groups) == set(was.groups))


def _of_veto(before: list[str], after: list[str]) -> DifferenceClass | None:
    """Judge who ends a request by a no: anybody where nobody is named."""
    gone, new = set(before) - set(after), set(after) - set(before)
    if not before or not after:
        return WEAKER if new else STRICTER
    return OTHER if gone and new else WEAKER if gone else STRICTER if new else None


def _of_break_glass(before: BreakGlass | None, after: BreakGlass | None) -> DifferenceClass | None:
    """Judge break-glass, with which one signature is enough."""
    if before is None or after is None:
        return FEWER if after else STRICTER
    return _worst(
        _more_people_is(OTHER)(before.groups, after.groups),
        _more_is(WEAKER)(before.at_most, after.at_most),
        _longer_is(STRICTER)(before.within, after.within),
        _gone_is_weaker(before.tell, after.tell),
        _more_people_is(WEAKER)(before.review_by, after.review_by),
        _longer_is(WEAKER)(before.review_within, after.review_within),
    )


def _of_execute(member: str, was: ExecuteWhen | None, now: ExecuteWhen | None) -> Iterator[Difference]:
    """Yield the difference between two execution windows."""
    if was != now:
        yield Difference(execute_difference(was, now), member, _json(was), _json(now))


def execute_difference(was: ExecuteWhen | None, now: ExecuteWhen | None) -> DifferenceClass:
    """Judge two different execution windows; None is any time."""
    return _of_times(was, now) if was and now else STRICTER if now else WEAKER


def _of_times(was: ExecuteWhen, now: ExecuteWhen) -> DifferenceClass:
    """Judge two windows: stricter only if the old one contains the new one."""
    is_within = _span(now.within) <= _span(was.within)
    is_later = (now.not_before or "") >= (was.not_before or "")
    is_narrower = not was.between or (now.time_zone == was.time_zone and bool(now.between) and _covers(was, now))
    return STRICTER if is_within and is_later and is_narrower else WEAKER


def _covers(was: ExecuteWhen, now: ExecuteWhen) -> bool:
    return all(window in was.between for window in now.between)


_MEMBERS: dict[str, Judge] = {
    "quorum": lambda before, after: FEWER if after < before else STRICTER,
    "exclude": _gone_is_weaker,
    "expires_in": _longer_is(WEAKER),
    "reason_required": lambda before, _: WEAKER if before else STRICTER,
    "escalate_to": _of_line,
    "break_glass": _of_break_glass,
    "sign_with": lambda before, _: WEAKER if before else STRICTER,
    "pause_on_question": _of_pause,
    "editors_may_sign": lambda before, _: STRICTER if before else WEAKER,
    "classes": _of_classes,
    "veto": _of_veto,
}
"""The judge of each member of a requirement; groups and execution windows have their own, above."""
