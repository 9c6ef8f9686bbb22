"""The lines of a policy's files that questions evaluate, as OPA's coverage tells them: of one question, and of all.

OPA tells places from row and column to row and column: of conditions that were evaluated, and of the heads of rules
that gave something.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Head = tuple[int, int]
"""Where the head of a rule begins: row and column, from 1."""


@dataclass(frozen=True)
class SeenFile:
    """What one question did in a file: the lines that count, those that were evaluated, and the heads that held."""

    counting: frozenset[int]
    evaluated: frozenset[int]
    held: frozenset[Head]

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "SeenFile":
        """Read what OPA tells of a file.

        A line on which something begins is evaluated if anything that begins on it is; what a line only continues
        decides for it otherwise.
        """
        covered, others = _spans(told, "covered"), _spans(told, "not_covered")
        begun = {span[0][0] for span in covered}
        inside = _rows(covered) - {span[0][0] for span in others}
        held = frozenset(span[0] for span in covered)
        return cls(frozenset(_rows(covered) | _rows(others)), frozenset(begun | inside), held)


Span = tuple[tuple[int, int], tuple[int, int]]


def _spans(told: Mapping[str, Any], kind: str) -> list[Span]:
    found = told.get(kind, ())
    return [((one["start"]["row"], one["start"]["col"]), (one["end"]["row"], one["end"]["col"])) for one in found]


def _rows(spans: Iterable[Span]) -> set[int]:
    return {row for start, end in spans for row in range(start[0], end[0] + 1)}


@dataclass
class FileCounts:
    """The lines of a file that count, each with the number of questions that evaluated it; and the same of heads."""

    lines: Counter[int] = field(default_factory=Counter)
    held: Counter[Head] = field(default_factory=Counter)

    def add(self, seen: SeenFile) -> None:
        """Add one question."""
        for row in seen.counting:
            self.lines[row] += row in seen.evaluated
        self.held.update(seen.held)

    @property
    def covered(self) -> int:
        """Return how many lines some question evaluated."""
        return sum(1 for count in self.lines.values() if count)


def add_all(counts: dict[str, FileCounts], questions: Iterable[Mapping[str, SeenFile] | None]) -> None:
    """Add questions to the counts of each file; None is one over which the policy failed."""
    for files in questions:
        for name, seen in (files or {}).items():
            counts.setdefault(name, FileCounts()).add(seen)


def heads_in(tree: Any) -> list[Head]:
    """Return where the rules of a file begin, without defaults, those behind an `else` each for itself."""
    rules = (rule for rule in tree.get("rules", ()) if not rule.get("default"))
    return [(one["location"]["row"], one["location"]["col"]) for rule in rules for one in _with_others(rule)]


def _with_others(rule: Any) -> Sequence[Any]:
    return [rule["head"], *(_with_others(rule["else"]) if "else" in rule else ())]
