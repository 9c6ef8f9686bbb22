"""The summary of a coverage: each file with its lines, and the rules that never held."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.contract import PolicyText
from policy.coverage.lines import FileCounts, heads_in
from policy.trace import PolicyRule, rules_in

_NOT_ASKED = ("countersign.operator", "system")
"""Packages of which no decision asks: acts of operators are not recorded as questions, and OPA itself asks `system`."""


@dataclass(frozen=True)
class Measured:
    """What was asked: recorded questions, those over which the policy failed, and decisions that hold no question.

    The moments and the sample are those that were wished for.
    """

    questions: int
    failed: int
    not_replayable: int
    since: str | None
    until: str | None
    sample: int


@dataclass(frozen=True)
class Summary:
    """The summary as one document, the content of the JSON report, and the text of each file."""

    document: Mapping[str, Any]
    text: PolicyText


def summarize(
    text: PolicyText, measured: Measured, counts: Mapping[str, FileCounts], trees: Mapping[str, Any]
) -> Summary:
    """Return the summary of a coverage; `trees` are the syntax trees of the policy's files by name."""
    asked = {name: tree for name, tree in sorted(trees.items()) if _is_asked(tree)}
    files = [_file(name, counts.get(name, FileCounts())) for name in asked]
    counting, covered = (sum(one[member] for one in files) for member in ("counting", "covered"))
    document = {
        "policy": text.digest,
        **vars(measured),
        "counting": counting,
        "covered": covered,
        "share": _share(covered, counting),
        "files": files,
        "never_true": [_rule(one) for name, tree in asked.items() for one in _never_true(name, tree, counts.get(name))],
        "not_asked": sorted(trees.keys() - asked.keys()),
    }
    return Summary(document, text)


def _is_asked(tree: Any) -> bool:
    package = ".".join(str(term["value"]) for term in tree["package"]["path"][1:])
    return not any(f"{package}.".startswith(f"{one}.") for one in _NOT_ASKED)


def _file(name: str, counts: FileCounts) -> dict[str, Any]:
    lines = [{"row": row, "questions": count} for row, count in sorted(counts.lines.items())]
    total, covered = len(lines), counts.covered
    return {"file": name, "counting": total, "covered": covered, "share": _share(covered, total), "lines": lines}


def _share(covered: int, counting: int) -> str:
    return f"{covered / counting if counting else 0:.4f}"


def _never_true(name: str, tree: Any, counts: FileCounts | None) -> Sequence[PolicyRule]:
    """Return the rules of a file that held for no question."""
    held = counts.held if counts else {}
    return [rule for rule, head in zip(rules_in(name, tree), heads_in(tree), strict=True) if head not in held]


def _rule(rule: PolicyRule) -> dict[str, Any]:
    path = rule.path.removeprefix("data.")
    return {"path": path, "title": rule.title, "code": rule.code, "file": rule.place.file, "row": rule.place.row}
