"""Explanations: why a decision fell as it did. Its question is asked again of the text that answered it, with a trace.

The `opa` that does so has no network, no clock and no chance, an empty environment and a folder of its own, and is
bounded in time, memory and bytes, so that the author of the text need not be trusted.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policy.bundle import write_files
from policy.confined import DESK, Bounds, confined
from policy.errors import PolicyError
from policy.trace import Condition, Place, PolicyRule, Went, first_fault, rules_in, went_through, without

DECISION = "data.countersign.effect.decision"
FLAWS = "data.countersign.effect.config.flaws"
_LONGEST_FAULT = 2000
"""Characters that are told of what OPA prints of a fault: a policy has a say in them."""
FORBIDDEN = frozenset(
    {"http.send", "net.lookup_ip_addr", "opa.runtime", "rand.intn", "time.now_ns", "uuid.rfc4122"},
)
"""What would answer differently another time, or reach for a network."""
_AT_ONCE = 2
"""Processes for one question: a policy may have many files."""
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

    A rule came near if all but one of its conditions hold; `untried` counts rules of which nobody knows, since finding
    out took too long. `printed` is what the policy's `print` said, and `milliseconds` how long OPA took for the answer
    alone. `flaws` is what the policy says against the tenant's configuration: while it says anything, or no list, none
    of its answers counts.
    """

    answer: Any
    gave: Sequence[RuleSeen]
    near: Sequence[RuleSeen]
    printed: Sequence[str]
    milliseconds: float
    untried: int
    flaws: Any


async def explain(
    opa: Path, files: Mapping[str, str], question: Mapping[str, Any], bounds: Bounds = DESK
) -> Explanation:
    """Ask a policy's text a question, and return why the answer is what it is; raise PolicyError."""
    try:
        async with asyncio.timeout(bounds.overall), _offline(opa, files, question, bounds) as asking:
            return await _explained(asking)
    except TimeoutError as error:
        raise PolicyError(f"the policy is not explained within {bounds.overall:g} s") from error


@dataclass(frozen=True)
class Answered:
    """What a question is answered, with the policy's `flaws` and `milliseconds` as in an explanation."""

    answer: Any
    flaws: Any
    milliseconds: float


async def answered(opa: Path, files: Mapping[str, str], question: Mapping[str, Any], bounds: Bounds = DESK) -> Answered:
    """Ask a policy's text a question, without an explanation; raise PolicyError."""
    try:
        async with asyncio.timeout(bounds.overall), _offline(opa, files, question, bounds) as asking:
            answer, _, milliseconds = await asking.answered()
            return Answered(answer, await asking.flaws(), milliseconds)
    except TimeoutError as error:
        raise PolicyError(f"the policy does not answer within {bounds.overall:g} s") from error


async def _explained(asking: "_Offline") -> Explanation:
    answer, printed, milliseconds = await asking.answered()
    went = await asking.traced(DECISION)
    rules = await asking.rules()
    seen = [(rules[place], how) for place, how in went.items() if place in rules]
    gave = [rule for rule, how in seen if how.gave]
    near, untried = await asking.near(seen)
    values = await asking.values([*gave, *(rule for rule, _ in near)])
    return Explanation(
        answer,
        [RuleSeen(rule, _read_by(rule, values)) for rule in gave],
        [RuleSeen(rule, _read_by(rule, values), fault) for rule, fault in near],
        printed,
        milliseconds,
        untried,
        await asking.flaws(),
    )


def _read_by(rule: PolicyRule, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rule's conditions read, as far as it is there."""
    named = {words: path for condition in rule.conditions for path, words in condition.reads.items()}
    return {words: values[path] for words, path in named.items() if path in values}


async def offline_capabilities(opa: Path, bounds: Bounds) -> str:
    """Return OPA's capabilities without what would answer differently another time, or reach for a network."""
    capabilities = json.loads((await confined(opa, "capabilities", "--current", bounds=bounds))[0])
    kept = [one for one in capabilities["builtins"] if one["name"] not in FORBIDDEN]
    return json.dumps({**capabilities, "builtins": kept, "allow_net": []})


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write a policy's files into a folder as a bundle."""
    write_files(folder, files)
    (folder / ".manifest").write_text(json.dumps({"roots": [""], "rego_version": 1}), encoding="utf-8")


@asynccontextmanager
async def _offline(
    opa: Path, files: Mapping[str, str], question: Mapping[str, Any], bounds: Bounds
) -> AsyncIterator["_Offline"]:
    """Lay a policy's text out in a folder of its own."""
    with TemporaryDirectory(prefix="countersign-policy-") as made:
        folder = Path(made)
        (folder / "capabilities.json").write_text(await offline_capabilities(opa, bounds))
        asking = _Offline(opa, folder, files, json.dumps(question), bounds, asyncio.Semaphore(_AT_ONCE))
        asking.lay_out(folder / "policy", files)
        yield asking


@dataclass(frozen=True)
class _Offline:
    """A policy's text in a folder, and the question that it is asked."""

    opa: Path
    folder: Path
    files: Mapping[str, str]
    question: str
    bounds: Bounds
    at_once: asyncio.Semaphore

    def lay_out(self, folder: Path, files: Mapping[str, str]) -> None:
        """Write a policy's files as a bundle."""
        lay_out(folder, files)

    async def _eval(self, query: str, *arguments: str, policy: str = "policy") -> tuple[Any, str]:
        """Return what OPA finds, and what the policy printed meanwhile."""
        where = ("--bundle", str(self.folder / policy), "--capabilities", str(self.folder / "capabilities.json"))
        asked = ("eval", *where, "--strict-builtin-errors", "--stdin-input", "--format", "json", *arguments, query)
        try:
            found, printed = await confined(self.opa, *asked, bounds=self.bounds, stdin=self.question)
        except PolicyError as error:
            raise PolicyError(fault_in(str(error), f"{self.folder / policy}/")) from error
        return parsed_json(found), printed

    async def answered(self) -> tuple[Any, Sequence[str], float]:
        """Return the decision, None where it is undefined, what the policy printed, and the milliseconds it took."""
        found, printed = await self._eval(DECISION, "--metrics")
        return _value(found), printed.splitlines(), found["metrics"]["timer_rego_query_eval_ns"] / 1e6

    async def flaws(self) -> Any:
        """Return what the policy says against the tenant's configuration, None where that is undefined."""
        return _value((await self._eval(FLAWS))[0])

    async def traced(self, query: str, policy: str = "policy") -> Mapping[Place, Went]:
        """Return the rules that were asked for a document."""
        found, _ = await self._eval(query, *_TRACED, policy=policy)
        return went_through(found["explanation"], str(self.folder / policy))

    async def rules(self, *, with_defaults: bool = False) -> dict[Place, PolicyRule]:
        """Return the rules of all files."""
        names = [name for name in self.files if name.endswith(".rego")]
        trees = await asyncio.gather(*map(self._tree, names), return_exceptions=True)
        if failed := next((one for one in trees if isinstance(one, BaseException)), None):
            raise failed  # once none of them runs any more
        return {
            rule.place: rule
            for name, tree in zip(names, trees, strict=True)
            for rule in rules_in(name, tree, with_defaults=with_defaults)
        }

    async def _tree(self, name: str) -> Any:
        how = ("parse", "--format", "json", "--json-include=locations,-comments")
        async with self.at_once:
            printed, _ = await confined(self.opa, *how, str(self.folder / "policy" / name), bounds=self.bounds)
        return parsed_json(printed)

    async def near(self, seen: Sequence[tuple[PolicyRule, Went]]) -> tuple[list[tuple[PolicyRule, Condition]], int]:
        """Return the rules of which all but one condition holds, each with that condition; and how many are untried.

        None is tried once the time for that has passed: an answer without them is better than none.
        """
        stopped = [(rule, fault) for rule, how in seen if (fault := first_fault(rule, how)) is not None]
        loop = asyncio.get_running_loop()
        until = loop.time() + self.bounds.near
        found: list[tuple[PolicyRule, Condition]] = []
        for number, (rule, fault) in enumerate(stopped):
            if loop.time() >= until:
                return found, len(stopped) - number
            if await self._gives_without(rule, fault):
                found.append((rule, fault))
        return found, 0

    async def _gives_without(self, rule: PolicyRule, fault: Condition) -> bool:
        """Return whether the rule gives something once the condition holds; not where it cannot do without that."""
        changed = {**self.files, rule.place.file: without(self.files[rule.place.file], fault)}
        with TemporaryDirectory(dir=self.folder, prefix="without-") as made:
            self.lay_out(Path(made), changed)
            try:
                went = await self.traced(rule.path, Path(made).name)
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


async def parsed_rules(opa: Path, files: Mapping[str, str], bounds: Bounds = DESK) -> list[PolicyRule]:
    """Return the rules of a policy's text, defaults, too; raise PolicyError."""
    async with _offline(opa, files, {}, bounds) as asking:
        return list((await asking.rules(with_defaults=True)).values())


def parsed_json(printed: str) -> Any:
    """Return the JSON that OPA prints; raise PolicyError where a policy gives what we cannot hold."""
    try:
        return json.loads(printed, parse_float=_finite)
    except RecursionError as error:
        raise PolicyError("the policy is nested too deeply") from error
    except ValueError as error:
        raise PolicyError(f"the policy gives what cannot be read: {error}") from error


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number that is too large")
    return number


def _value(found: Any) -> Any:
    """Return what OPA found, None where that is undefined."""
    return found["result"][0]["expressions"][0]["value"] if found.get("result") else None


def fault_in(printed: str, folder: str) -> str:
    """Return what OPA prints of a fault, as one line; files are named in the policy's `folder`."""
    try:
        faults = json.loads(printed)["errors"]
        said = [f"{_where(fault)}{fault['message']}" for fault in faults]
    except (ValueError, LookupError, TypeError):
        said = printed.splitlines()
    text = "; ".join(said).replace(folder, "").replace(folder.lstrip("/"), "")
    return text if len(text) <= _LONGEST_FAULT else f"{text[:_LONGEST_FAULT]}…"


def _where(fault: Any) -> str:
    place = fault.get("location")
    return f"{place['file']}:{place['row']}: " if place else ""
