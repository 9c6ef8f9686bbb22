"""Explanations: why a decision fell as it did. Its question is asked again of the text that answered it, with a trace.

The `opa` that does so has no network, no clock and no chance, an empty environment and a folder of its own, and a
limited time for each evaluation.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policy.bundle import write_files
from policy.errors import PolicyError
from policy.trace import Condition, Place, PolicyRule, Went, first_fault, rules_in, went_through, without
from policy.vetting import opa_prints

DECISION = "data.countersign.effect.decision"
FORBIDDEN = frozenset(
    {"http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "time.now_ns", "uuid.rfc4122"},
)
"""What would answer differently another time, or reach for a network."""
SECONDS = 10
"""How long one evaluation may take; a decision takes OPA milliseconds."""
_LATE = ("context deadline exceeded", "timed out")
"""What OPA says where the time has passed."""
_TRACED = ("--explain", "full", "--disable-indexing", "--disable-early-exit")
"""An index skips rules that cannot give anything, and the trace would not name them."""


@dataclass(frozen=True)
class RuleSeen:
    """A rule, and what its conditions read, by the author's words; `fault` is the one condition that did not hold."""

    rule: PolicyRule
    reads: Mapping[str, Any]
    fault: Condition | None = None


@dataclass(frozen=True)
class Explanation:
    """What a question is answered, the rules that gave something, and those that came near, in the order of asking.

    A rule came near if all but one of its conditions hold. `printed` is what the policy's `print` said, and
    `milliseconds` how long OPA took for the answer alone.
    """

    answer: Any
    gave: Sequence[RuleSeen]
    near: Sequence[RuleSeen]
    printed: Sequence[str]
    milliseconds: float


async def explain(opa: Path, files: Mapping[str, str], question: Mapping[str, Any]) -> Explanation:
    """Ask a policy's text a question, and return why the answer is what it is; raise PolicyError."""
    async with _offline(opa, files, question) as asking:
        answer, printed, milliseconds = await asking.answered()
        went = await asking.traced(DECISION)
        rules = await asking.rules()
        seen = [(rules[place], how) for place, how in went.items() if place in rules]
        gave = [rule for rule, how in seen if how.gave]
        near = await asking.near(seen)
        values = await asking.values([*gave, *(rule for rule, _ in near)])
    return Explanation(
        answer,
        [RuleSeen(rule, _read_by(rule, values)) for rule in gave],
        [RuleSeen(rule, _read_by(rule, values), fault) for rule, fault in near],
        printed,
        milliseconds,
    )


def _read_by(rule: PolicyRule, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rule's conditions read, as far as it is there."""
    named = {words: path for condition in rule.conditions for path, words in condition.reads.items()}
    return {words: values[path] for words, path in named.items() if path in values}


@asynccontextmanager
async def _offline(opa: Path, files: Mapping[str, str], question: Mapping[str, Any]) -> AsyncIterator["_Offline"]:
    """Lay a policy's text out in a folder of its own."""
    with TemporaryDirectory(prefix="countersign-policy-") as made:
        folder = Path(made)
        capabilities = json.loads((await opa_prints(opa, "capabilities", "--current"))[0])
        kept = [one for one in capabilities["builtins"] if one["name"] not in FORBIDDEN]
        (folder / "capabilities.json").write_text(json.dumps({**capabilities, "builtins": kept, "allow_net": []}))
        asking = _Offline(opa, folder, files, json.dumps(question))
        asking.lay_out(folder / "policy", files)
        yield asking


@dataclass(frozen=True)
class _Offline:
    """A policy's text in a folder, and the question that it is asked."""

    opa: Path
    folder: Path
    files: Mapping[str, str]
    question: str

    def lay_out(self, folder: Path, files: Mapping[str, str]) -> None:
        """Write a policy's files as a bundle."""
        write_files(folder, files)
        (folder / ".manifest").write_text(json.dumps({"roots": [""], "rego_version": 1}), encoding="utf-8")

    async def _eval(self, query: str, *arguments: str, policy: str = "policy") -> tuple[Any, str]:
        """Return what OPA finds, and what the policy printed meanwhile."""
        where = ("--bundle", str(self.folder / policy), "--capabilities", str(self.folder / "capabilities.json"))
        limits = ("--strict-builtin-errors", "--timeout", f"{SECONDS}s", "--stdin-input", "--format", "json")
        asked = ("eval", *where, *limits, *arguments, query)
        try:
            found, printed = await opa_prints(self.opa, *asked, stdin=self.question)
        except PolicyError as error:
            if any(word in str(error) for word in _LATE):
                raise PolicyError(f"the policy does not answer within {SECONDS} s") from error
            raise PolicyError(_fault_in(str(error), f"{self.folder / policy}/")) from error
        return json.loads(found), printed

    async def answered(self) -> tuple[Any, Sequence[str], float]:
        """Return the decision, None where it is undefined, what the policy printed, and the milliseconds it took."""
        found, printed = await self._eval(DECISION, "--metrics")
        return _value(found), printed.splitlines(), found["metrics"]["timer_rego_query_eval_ns"] / 1e6

    async def traced(self, query: str, policy: str = "policy") -> Mapping[Place, Went]:
        """Return the rules that were asked for a document."""
        found, _ = await self._eval(query, *_TRACED, policy=policy)
        return went_through(found["explanation"], str(self.folder / policy))

    async def rules(self) -> dict[Place, PolicyRule]:
        """Return the rules of all files."""
        return {rule.place: rule for rule in await _rules_of(self.opa, self.folder / "policy", self.files)}

    async def near(self, seen: Sequence[tuple[PolicyRule, Went]]) -> list[tuple[PolicyRule, Condition]]:
        """Return the rules of which all but one condition holds, each with that condition."""
        stopped = [(rule, fault) for rule, how in seen if (fault := first_fault(rule, how)) is not None]
        is_near = [await self._gives_without(rule, fault, number) for number, (rule, fault) in enumerate(stopped)]
        return [one for one, found in zip(stopped, is_near, strict=True) if found]

    async def _gives_without(self, rule: PolicyRule, fault: Condition, number: int) -> bool:
        """Return whether the rule gives something once the condition holds; not where it cannot do without that."""
        changed = {**self.files, rule.place.file: without(self.files[rule.place.file], fault)}
        policy = f"without-{number}"
        self.lay_out(self.folder / policy, changed)
        try:
            went = await self.traced(rule.path, policy)
        except PolicyError:
            return False  # other conditions need what this one gives a name to
        return rule.place in went and went[rule.place].gave

    async def values(self, rules: Sequence[PolicyRule]) -> dict[str, Any]:
        """Return the values of what the rules' conditions read, by path; what is undefined has none."""
        paths = sorted({path for rule in rules for condition in rule.conditions for path in condition.reads})
        try:
            return await self._values(paths)
        except PolicyError:  # one has a fault as it is asked here, with no other input: the others are shown
            found: dict[str, Any] = {}
            for path in paths:
                with suppress(PolicyError):
                    found |= await self._values([path])
            return found

    async def _values(self, paths: Sequence[str]) -> dict[str, Any]:
        query = ", ".join(f"[value | value := {path}]" for path in paths)
        found, _ = await self._eval(f"[{query}]")
        return {path: values[0] for path, values in zip(paths, _value(found), strict=True) if values}


async def parsed_rules(opa: Path, files: Mapping[str, str]) -> list[PolicyRule]:
    """Return the rules of a policy's text, defaults, too; raise PolicyError."""
    with TemporaryDirectory(prefix="countersign-policy-") as made:
        write_files(Path(made), files)
        return await _rules_of(opa, Path(made), files, with_defaults=True)


async def _rules_of(opa: Path, folder: Path, names: Iterable[str], *, with_defaults: bool = False) -> list[PolicyRule]:
    modules = [name for name in names if name.endswith(".rego")]
    how = ("parse", "--format", "json", "--json-include=locations,-comments")
    printed = await asyncio.gather(*(opa_prints(opa, *how, str(folder / name)) for name in modules))
    return [
        rule
        for name, (tree, _) in zip(modules, printed, strict=True)
        for rule in rules_in(name, json.loads(tree), with_defaults=with_defaults)
    ]


def _value(found: Any) -> Any:
    """Return what OPA found, None where that is undefined."""
    return found["result"][0]["expressions"][0]["value"] if found.get("result") else None


def _fault_in(printed: str, folder: str) -> str:
    """Return what OPA prints of a fault, as one line; files are named in the policy's `folder`."""
    try:
        faults = json.loads(printed)["errors"]
        said = [f"{_where(fault)}{fault['message']}" for fault in faults]
    except (ValueError, LookupError, TypeError):
        said = printed.splitlines()
    return "; ".join(said).replace(folder.lstrip("/"), "").replace(folder, "")


def _where(fault: Any) -> str:
    place = fault.get("location")
    return f"{place['file']}:{place['row']}: " if place else ""
