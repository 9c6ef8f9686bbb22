"""Coverage of a policy: the lines that recorded questions evaluate, and the rules that held for none of them.

Questions are asked in an `opa` that is confined and has no network, each in a process of its own, since OPA tells the
coverage of a whole evaluation. It tells places from row and column to row and column: those of conditions that were
evaluated, and of the heads of rules that gave something.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policy.confined import DESK, Bounds, confined
from policy.contract import PolicyText
from policy.errors import PolicyError
from policy.explain import DECISION, FLAWS, lay_out, offline_capabilities, parsed_json
from policy.trace import PolicyRule, rules_in

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


_QUERY = f"[[answer | answer := {DECISION}], [flaws | flaws := {FLAWS}]]"
"""What the gate asks: of a question, and once of the configuration."""
_NO_REASONS = "--coverage-runs="
"""Not asked: each reason why a line is not reached would be one more evaluation."""


@dataclass(frozen=True)
class CoverageOpa:
    """A policy's text, laid out in a folder, and the program that is asked."""

    opa: Path
    folder: Path
    bounds: Bounds
    at_once: asyncio.Semaphore

    async def seen(self, question: Mapping[str, Any]) -> dict[str, SeenFile] | None:
        """Return what a question did in each file, None where the policy fails over it."""
        policy = self.folder / "policy"
        where = ("--bundle", str(policy), "--capabilities", str(self.folder / "capabilities.json"))
        how = ("--strict-builtin-errors", "--stdin-input", "--format", "json", "--coverage", _NO_REASONS)
        try:
            async with self.at_once:
                asked = json.dumps(question)
                printed, _ = await confined(self.opa, "eval", *where, *how, _QUERY, bounds=self.bounds, stdin=asked)
        except PolicyError:
            return None
        root = f"{str(policy).strip('/')}/"
        files = parsed_json(printed)["coverage"]["files"]
        return {name.strip("/").removeprefix(root): SeenFile.of(told) for name, told in files.items()}

    async def tree(self, name: str) -> Any:
        """Return the syntax tree of a file; raise PolicyError."""
        how = ("parse", "--format", "json", "--json-include=locations,-comments")
        async with self.at_once:
            printed, _ = await confined(self.opa, *how, str(self.folder / "policy" / name), bounds=self.bounds)
        return parsed_json(printed)


@asynccontextmanager
async def coverage_opa(
    opa: Path, files: Mapping[str, str], at_once: int, bounds: Bounds = DESK
) -> AsyncIterator[CoverageOpa]:
    """Lay a policy's text out in a folder of its own; up to `at_once` questions are asked at the same time."""
    with TemporaryDirectory(prefix="countersign-coverage-") as made:
        folder = Path(made)
        (folder / "capabilities.json").write_text(await offline_capabilities(opa, bounds))
        lay_out(folder / "policy", files)
        yield CoverageOpa(opa, folder, bounds, asyncio.Semaphore(at_once))


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
