"""What a module of a policy names: requirements that its `demand` rules ask for, and operations of its connector.

They are read from the syntax tree as `opa parse` prints it. A name that is put together, such as
`concat("", ["access_", system])`, is known by its beginning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_NONE = "none"
_PACK_PATH = 4
_OPERATION = ("input", "effect", "operation")
_SAME, _AMONG = ("eq", "equal"), "internal.member_2"


@dataclass(frozen=True)
class Named:
    """What a module names, each with its line.

    `asked` are requirements, `begun` the beginnings of requirements that are put together; a beginning that is "" may
    be any. `words` are all texts of the module. `connector` is "" in a module that is no pack's.
    """

    file: str
    row: int
    connector: str
    asked: Mapping[str, int]
    begun: Mapping[str, int]
    operations: Mapping[str, int]
    words: frozenset[str]

    def may_ask(self, requirement: str) -> bool:
        """Return whether a rule of this module may ask for a requirement."""
        begun = any(requirement.startswith(start) for start in self.begun)
        return begun or requirement in self.asked or (bool(self.connector) and requirement in self.words)


def named_in(file: str, tree: Any) -> Named:
    """Return what a module names."""
    package = [str(term["value"]) for term in tree["package"]["path"]]
    is_pack = len(package) >= _PACK_PATH and package[1] == "countersign_pack"
    asked: dict[str, int] = {}
    begun: dict[str, int] = {}
    for rule in tree.get("rules", ()):
        if _name(rule) == "demand":
            _demand(rule, asked, begun)
    return Named(
        file,
        tree["package"]["location"]["row"],
        package[3] if is_pack else "",
        asked,
        begun,
        dict(_operations(tree.get("rules", ()))) if is_pack else {},
        frozenset(_texts(tree.get("rules", ()), of_refs=False)),
    )


def _demand(rule: Any, asked: dict[str, int], begun: dict[str, int]) -> None:
    row = rule["location"]["row"]
    for value in _required(rule):
        if value["type"] == "string":
            if value["value"] != _NONE:
                asked.setdefault(value["value"], row)
        else:
            for start in _beginnings(value, rule):
                begun.setdefault(start, row)


def _required(rule: Any) -> Iterator[Any]:
    """Yield the terms that a rule, and what stands behind its `else`, give as `requirement`."""
    value = rule["head"].get("value", {})
    if value.get("type") == "object":
        yield from (term for key, term in value["value"] if key.get("value") == "requirement")
    if "else" in rule:
        yield from _required({"head": {}, **rule["else"]})


def _beginnings(value: Any, rule: Any) -> Iterator[str]:
    """Yield how a name begins that is put together: by this term or, where it is a variable, anywhere in the rule."""
    if value["type"] == "call":
        yield _beginning(value["value"])
    elif value["type"] == "var":
        found = [_beginning(call) for call in _calls(rule) if _called(call) in ("concat", "sprintf")]
        yield from found or [""]
    else:
        yield ""


def _beginning(call: Any) -> str:
    name, arguments = _called(call), call[1:]
    if name == "sprintf" and arguments[0]["type"] == "string":
        return str(arguments[0]["value"]).partition("%")[0]
    if name == "concat" and arguments[0]["type"] == "string" and arguments[1]["type"] == "array":
        return _joined(str(arguments[0]["value"]), arguments[1]["value"])
    return ""


def _joined(delimiter: str, items: Any) -> str:
    told: list[str] = []
    for item in items:
        if item["type"] != "string":
            return delimiter.join([*told, ""])
        told.append(str(item["value"]))
    return delimiter.join(told)


def _operations(rules: Any) -> Iterator[tuple[str, int]]:
    """Yield the operations with which `input.effect.operation` is compared."""
    for rule in rules:
        for call in _calls(rule):
            sides = call[1:3]
            if _called(call) in (*_SAME, _AMONG) and any(map(_is_operation, sides)):
                yield from ((text, rule["location"]["row"]) for side in sides for text in _texts(side, of_refs=False))


def _is_operation(term: Any) -> bool:
    return term.get("type") == "ref" and tuple(one["value"] for one in term["value"]) == _OPERATION


def _calls(node: Any) -> Iterator[Any]:
    """Yield the calls in a part of the syntax, as lists: the function, then its arguments."""
    if isinstance(node, list):
        if len(node) > 1 and isinstance(node[0], dict) and node[0].get("type") == "ref":
            yield node
        for one in node:
            yield from _calls(one)
    elif isinstance(node, dict):
        for name, one in node.items():
            if name not in ("location", "annotations"):
                yield from _calls(one)


def _called(call: Any) -> str:
    return ".".join(str(one["value"]) for one in call[0]["value"])


def _texts(node: Any, *, of_refs: bool = True) -> Iterator[str]:
    """Yield the texts in a part of the syntax, those that are names of members in a path only if wanted."""
    if isinstance(node, list):
        for one in node:
            yield from _texts(one, of_refs=of_refs)
    elif isinstance(node, dict):
        if node.get("type") == "string":
            yield str(node["value"])
        if of_refs or node.get("type") != "ref":
            for name, one in node.items():
                if name not in ("location", "annotations"):
                    yield from _texts(one, of_refs=of_refs)


def _name(rule: Any) -> str:
    return str(rule["head"]["ref"][0]["value"])
