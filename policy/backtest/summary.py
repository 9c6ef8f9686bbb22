"""The summary of a backtest: the number of decisions in each class, with examples, and by group.

It depends on the decisions and the candidate only: the same input gives the same bytes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from policy.backtest.judging import JudgedDecision
from policy.differences import DifferenceClass

EXAMPLES = 3
"""Examples of a class; different operations and rules come first."""
MOST_GROUPS = 100

TITLES: Mapping[DifferenceClass, str] = {
    DifferenceClass.DENY_TO_ALLOW: "Denied → allowed",
    DifferenceClass.APPROVAL_TO_ALLOW: "Approval required → allowed without approval",
    DifferenceClass.DENY_TO_APPROVAL: "Denied → approval required",
    DifferenceClass.FEWER_SIGNATURES: "Fewer signatures",
    DifferenceClass.OTHER_PEOPLE: "Different approvers",
    DifferenceClass.WEAKER_TERMS: "Weaker terms",
    DifferenceClass.OTHER_OBLIGATIONS: "Different obligations",
    DifferenceClass.NO_ANSWER: "No valid answer: not performed",
    DifferenceClass.STRICTER: "Stricter",
    DifferenceClass.REASONS_ONLY: "Different reasons only",
    DifferenceClass.UNCHANGED: "Unchanged",
    DifferenceClass.NOT_REPLAYABLE: "Not replayable",
}


class GroupBy(StrEnum):
    """The second count, beside the class."""

    RULE = "rule"
    OPERATION = "operation"
    TENANT = "tenant"


def _rule(one: JudgedDecision) -> str:
    return ", ".join(one.rules) or "no reason given"


_GROUP: Mapping[GroupBy, Callable[[JudgedDecision], str]] = {
    GroupBy.RULE: _rule,
    GroupBy.OPERATION: lambda one: one.operation,
    GroupBy.TENANT: lambda one: one.tenant,
}


@dataclass
class _Class:
    count: int = 0
    examples: list[JudgedDecision] = field(default_factory=list)
    spare: list[JudgedDecision] = field(default_factory=list)
    shown: set[tuple[str, str]] = field(default_factory=set)

    def add(self, one: JudgedDecision) -> None:
        self.count += 1
        key = (one.operation, _rule(one))
        if key not in self.shown and len(self.examples) < EXAMPLES:
            self.shown.add(key)
            self.examples.append(one)
        elif len(self.spare) < EXAMPLES:
            self.spare.append(one)

    def best(self) -> list[JudgedDecision]:
        return [*self.examples, *self.spare][:EXAMPLES]


@dataclass(frozen=True)
class Asked:
    """The request: digest of the candidate, period (RFC 3339), and size of the sample; None for all decisions."""

    candidate: str
    since: str | None
    until: str | None
    sample: int | None


@dataclass(frozen=True)
class Summary:
    """The JSON report, and the number of decisions in each class."""

    document: dict[str, Any]
    counts: Mapping[DifferenceClass, int]


def summarize(asked: Asked, judged: Iterable[JudgedDecision], by: GroupBy) -> Summary:
    """Summarize judged decisions, in the order of the database."""
    classes = {kind: _Class() for kind in DifferenceClass}
    groups: dict[str, Counter[DifferenceClass]] = {}
    policies: Counter[str] = Counter()
    whys: Counter[str] = Counter()
    first = last = ""
    for one in judged:
        classes[one.kind].add(one)
        groups.setdefault(_GROUP[by](one), Counter())[one.kind] += 1
        policies[one.policy_digest] += 1
        first, last = min(first or one.at, one.at), max(last, one.at)
        if one.kind is DifferenceClass.NOT_REPLAYABLE:
            whys[one.why] += 1
    total = policies.total()
    document = {
        **vars(asked),
        "decisions": total,
        "first_at": first or None,
        "last_at": last or None,
        "policies": [{"digest": digest, "decisions": count} for digest, count in sorted(policies.items())],
        "classes": [_class_json(kind, found, total) for kind, found in classes.items()],
        "not_replayable": [{"reason": why, "decisions": count} for why, count in sorted(whys.items())],
        "grouped_by": str(by),
        **_groups_json(groups),
    }
    return Summary(document, {kind: found.count for kind, found in classes.items()})


def _class_json(kind: DifferenceClass, found: _Class, total: int) -> dict[str, Any]:
    examples = [_example_json(one) for one in found.best()] if kind is not DifferenceClass.UNCHANGED else []
    share = f"{found.count / total:.4f}" if total else "0.0000"
    return {"class": str(kind), "title": TITLES[kind], "decisions": found.count, "share": share, "examples": examples}


def _example_json(one: JudgedDecision) -> dict[str, Any]:
    told = one.model_dump(mode="json", exclude={"kind", "differences"})
    names = ("class", "member", "recorded", "candidate")
    return {**told, "differences": [dict(zip(names, each, strict=True)) for each in one.differences]}


def _groups_json(groups: Mapping[str, Counter[DifferenceClass]]) -> dict[str, Any]:
    """Return the groups, worst class first, and the number of groups left out."""
    ordered = sorted(groups.items(), key=lambda item: (*_badness(item[1]), item[0]))
    shown = [
        {"group": name, "decisions": counts.total(), "classes": {str(kind): counts[kind] for kind in _sorted(counts)}}
        for name, counts in ordered[:MOST_GROUPS]
    ]
    return {"groups": shown, "groups_left_out": max(0, len(ordered) - MOST_GROUPS)}


def _badness(counts: Counter[DifferenceClass]) -> tuple[int, int]:
    worst = _sorted(counts)[0]
    return worst.badness, -counts[worst]


def _sorted(counts: Counter[DifferenceClass]) -> list[DifferenceClass]:
    return sorted(counts, key=lambda kind: kind.badness)
