"""Traces of OPA: the rules of a policy as they stand in its files, and which of them an evaluation went through.

OPA's JSON is read as it prints it: `opa parse --json-include=locations` gives a file's rules with the text of each of
their conditions, `opa eval --explain=full --disable-indexing` gives the events. Both name a rule by file and line.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = Any


class Place(NamedTuple):
    """Where something stands in a policy: its file, and the line, from 1."""

    file: str
    row: int


@dataclass(frozen=True)
class Condition:
    """One condition of a rule as its author wrote it.

    `reads` are the paths that it names and that depend on nothing inside the rule, such as `input["effect"]["tier"]`,
    each with the words of the author: `input.effect.tier`.
    """

    row: int
    col: int
    text: str
    is_negated: bool
    binds: bool
    reads: Mapping[str, str]


@dataclass(frozen=True)
class PolicyRule:
    """A rule of a policy: `path` is its document, such as `data.countersign.effect.limits.deny`.

    `code` is that of the reason that it gives, "" where it gives none. `text` is as its author wrote it.
    `sentence` is what people read as the reason.
    """

    place: Place
    path: str
    title: str
    code: str
    conditions: tuple[Condition, ...]
    text: str
    sentence: str


def rules_in(file: str, parsed: Json, *, with_defaults: bool = False) -> list[PolicyRule]:
    """Return the rules of a file, as `opa parse` printed it; defaults, which nothing is asked of, only if wanted."""
    package = _path(parsed["package"]["path"])
    names = {**_imported(parsed.get("imports", ())), **{_name(rule): "" for rule in parsed.get("rules", ())}}
    names = {name: path or f"{package}.{name}" for name, path in names.items()}
    titles = _titles(parsed.get("rules", ()))
    return [
        _rule(file, one, f"{package}.{_name(one)}", names, titles)
        for rule in parsed.get("rules", ())
        if with_defaults or not rule.get("default")
        for one in _with_others(rule)
    ]


def _titles(rules: Sequence[Json]) -> dict[str, str]:
    """Return the titles of documents: what says nothing of its own is titled as the first rule of its name."""
    found: dict[str, str] = {}
    for rule in rules:
        for scope in ("document", "rule"):
            if title := _said(rule, scope).get("title"):
                found.setdefault(_name(rule), str(title))
    return found


def _with_others(rule: Json) -> Iterator[Json]:
    """Yield a rule, and what stands behind its `else`."""
    yield rule
    if "else" in rule:
        yield from _with_others({**rule["else"], "head": {**rule["head"], **rule["else"]["head"]}})


def _rule(file: str, rule: Json, path: str, names: Mapping[str, str], titles: Mapping[str, str]) -> PolicyRule:
    said = _said(rule, "rule")
    return PolicyRule(
        Place(file, rule["location"]["row"]),
        path,
        said.get("title") or titles.get(_name(rule), ""),
        str(said.get("custom", {}).get("short_name", "")),
        tuple(_condition(expr, names) for expr in rule.get("body", ()) if "location" in expr),
        _text(rule["head"]["location"] if rule.get("default") else rule["location"]),
        str(said.get("custom", {}).get("failure_msg", "")),
    )


def _said(rule: Json, scope: str) -> Mapping[str, Any]:
    """Return a rule's METADATA of a scope."""
    return next((one for one in rule.get("annotations", ()) if one.get("scope") == scope), {})


def _name(rule: Json) -> str:
    ref = rule["head"].get("ref")
    return str(ref[0]["value"]) if ref else str(rule["head"]["name"])


def _path(terms: Sequence[Json]) -> str:
    return ".".join(str(term["value"]) for term in terms)


def _imported(imports: Iterable[Json]) -> dict[str, str]:
    """Return the paths that a file imports, by the names that they have in it."""
    found = {}
    for one in imports:
        path = _path(one["path"]["value"])
        found[one.get("alias") or path.rpartition(".")[2]] = path
    return found


def _condition(expr: Json, names: Mapping[str, str]) -> Condition:
    where = expr["location"]
    terms = expr["terms"]
    called = terms[0]["value"] if isinstance(terms, list) and terms[0]["type"] == "ref" else ()
    binds = (isinstance(terms, dict) and "symbols" in terms) or _path(called) in ("assign", "eq")
    text = _text(where)
    reads = dict(_reads({"terms": terms}, names))
    return Condition(where["row"], where["col"], text, bool(expr.get("negated")), binds, reads)


def _text(where: Json) -> str:
    return base64.b64decode(where.get("text", "")).decode()


def _reads(node: Json, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the paths that a part of the syntax names, each with the author's words for it; functions are none."""
    if isinstance(node, list):
        for one in node:
            yield from _reads(one, names)
    elif isinstance(node, dict):
        kind = node.get("type")
        if kind == "ref":
            yield from _ref(node["value"], names)
        elif kind == "var" and node["value"] in names:
            yield names[node["value"]], str(node["value"])
        inside = node["value"][1:] if kind in ("call", "ref") else _arguments(node.get("terms", node.get("value")))
        yield from _reads(inside, names)
        for name in ("symbols", "term", "key", "body", "domain"):
            yield from _reads(node.get(name), names)


def _arguments(terms: Json) -> Json:
    """Return the terms of an expression, of a call without the function's name."""
    is_call = isinstance(terms, list) and terms and isinstance(terms[0], dict) and terms[0].get("type") == "ref"
    return terms[1:] if is_call else terms


def _ref(terms: Sequence[Json], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    head, *others = terms
    root = {"input": "input", "data": "data", **names}.get(str(head.get("value")))
    if head.get("type") != "var" or root is None or any(one.get("type") != "string" for one in others):
        return
    members = [json.dumps(one["value"]) for one in others]
    if members or root not in ("input", "data"):
        plain = [str(one["value"]) for one in others]
        words = [f".{name}" if _PLAIN.fullmatch(name) else f"[{json.dumps(name)}]" for name in plain]
        yield "".join([root, *(f"[{member}]" for member in members)]), "".join([str(head["value"]), *words])


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass
class Went:
    """How an evaluation went through one rule: whether it gave something, and the conditions that did not hold.

    These are named by line and column.
    """

    gave: bool = False
    failed: set[tuple[int, int]] = field(default_factory=set)


def went_through(events: Iterable[Json], folder: str) -> dict[Place, Went]:
    """Return the rules that an evaluation entered, in the order in which it did, as OPA's trace tells it.

    `folder` is where OPA read the policy; files are named in it.
    """
    root = f"{folder.strip('/')}/"
    found: dict[Place, Went] = {}
    of_query: dict[int, Went] = {}
    for event in events:
        where, query = event["Location"], event["QueryID"]
        is_rule = isinstance(event["Node"], dict) and "head" in event["Node"]
        if event["Op"] == "Enter" and is_rule:
            place = Place(where["file"].lstrip("/").removeprefix(root), where["row"])
            of_query[query] = found.setdefault(place, Went())
        elif event["Op"] == "Exit" and is_rule:
            of_query[query].gave = True
        elif event["Op"] == "Fail" and query in of_query:
            of_query[query].failed.add((where["row"], where["col"]))
    return found


def first_fault(rule: PolicyRule, went: Went) -> Condition | None:
    """Return the one condition at which a rule that gave nothing stopped; None where there are several, or none.

    A condition that something else does not hold is none either: what holds instead is told by that rule. Neither is
    one that gives a name to a value, without which the rest says nothing.
    """
    failed = [one for one in rule.conditions if (one.row, one.col) in went.failed]
    if went.gave or len(failed) != 1 or failed[0].is_negated or failed[0].binds:
        return None
    return failed[0]


def without(text: str, condition: Condition) -> str:
    """Return a file's text in which a condition always holds; every other line stays where it is."""
    lines = text.split("\n")
    before = "\n".join([*lines[: condition.row - 1], lines[condition.row - 1][: condition.col - 1]])
    after = text[len(before) :].removeprefix(condition.text)
    return f"{before}true{chr(10) * condition.text.count(chr(10))}{after}"
