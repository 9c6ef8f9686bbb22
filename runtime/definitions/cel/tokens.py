"""Tokens of a CEL expression: which paths it refers to, which functions it calls, and where it ends in a text.

The CEL library names the root variables of an expression, not their members; the planner needs the members, since a
step depends on what it reads. Only what can be read off the tokens is accepted; what cannot be is an error.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

MAX_MACROS = 4
MAX_NESTED_MACROS = 2
RESERVED = frozenset({"trigger", "steps", "approvals", "run", "params", "tenant", "step", "fields_hash"})

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>[bB]?[rR](?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"[^"\n]*"|'[^'\n]*')
      |[bB]?(?:\"{3}(?:\\[\s\S]|[^\\])*?\"{3}|'{3}(?:\\[\s\S]|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>[\s\S])""",
    re.VERBOSE,
)
_WORDS = frozenset({"true", "false", "null", "in"})
MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_PAIRS = {")": "(", "]": "[", "}": "{"}
PLAIN_STRING = re.compile(r"""(?P<quote>["'])(?P<text>[^"'\\]*)(?P=quote)""")


class TokenError(ValueError):
    """The expression is not one whose references can be read off; the message says why."""


@dataclass(frozen=True)
class Reference:
    """A path that an expression reads: `root`, then members and list indexes as far as they are written out."""

    root: str
    path: tuple[str | int, ...]

    def __str__(self) -> str:
        """Return the path as it would be written."""
        return self.root + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)


@dataclass(frozen=True)
class Reading:
    """What the tokens of an expression say. `only` is set where the expression is one reference and nothing else."""

    references: tuple[Reference, ...]
    bound: frozenset[str]
    only: Reference | None


@dataclass(frozen=True)
class Token:
    """One token: `kind` is string, number, name or sign; a sign is one character. `start` is where it stands."""

    kind: str
    text: str
    start: int = field(default=0, compare=False)


@dataclass(frozen=True)
class _Macro:
    """A comprehension: `name` is bound from token `start` up to token `end`."""

    name: str
    start: int
    end: int


def expression_end(text: str, start: int) -> int | None:
    """Return where the ``}`` stands that closes the expression starting at `start`, or None."""
    depth = 0
    for match in _TOKEN.finditer(text, start):
        if match["sign"] == "{":
            depth += 1
        elif match["sign"] == "}":
            if depth == 0:
                return match.start()
            depth -= 1
    return None


def tokenize(source: str) -> list[Token]:
    """Return the tokens of `source`, without the space between them."""
    found = (match for match in _TOKEN.finditer(source) if not match["space"])
    return [Token(str(match.lastgroup), match.group(), match.start()) for match in found]


def read(source: str) -> Reading:
    """Return what the tokens of `source`, a well-formed expression, say."""
    tokens = tokenize(source)
    macros = list(_macros(tokens))
    _limit(macros)
    references: list[Reference] = []
    only = None
    for index, token in enumerate(tokens):
        if token.kind != "name" or token.text in _WORDS or _is_member(tokens, index):
            continue
        if _text(tokens, index + 1) == "(" or any(_binds(macro, token.text, index) for macro in macros):
            continue
        path, end = path_at(tokens, index + 1)
        references.append(Reference(token.text, path))
        only = references[0] if (index, end) == (0, len(tokens)) else None
    return Reading(tuple(dict.fromkeys(references)), frozenset(macro.name for macro in macros), only)


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""


def _is_member(tokens: Sequence[Token], index: int) -> bool:
    """Tell whether the name at `index` follows a value and a dot."""
    if _text(tokens, index - 1) != ".":
        return False
    before = tokens[index - 2] if index > 1 else Token("sign", "")
    if before.text == "in" or (before.kind == "sign" and before.text not in _PAIRS):
        raise TokenError(f"'.{tokens[index].text}' may not begin with a dot")
    return True


def _binds(macro: _Macro, name: str, index: int) -> bool:
    return macro.name == name and macro.start <= index < macro.end


def _macros(tokens: Sequence[Token]) -> Iterator[_Macro]:
    closing = closing_of(tokens)
    for index, token in enumerate(tokens):
        called = token.text in MACROS and _text(tokens, index - 1) == "." and _text(tokens, index + 1) == "("
        if called and _text(tokens, index + 3) == ",":
            name = tokens[index + 2].text
            if name in RESERVED:
                raise TokenError(f"'{name}' is reserved and may not be bound by {token.text}()")
            yield _Macro(name, index + 2, closing[index + 1])


def closing_of(tokens: Sequence[Token]) -> dict[int, int]:
    """Return for each opening bracket where its closing one stands."""
    found: dict[int, int] = {}
    open_: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "sign" and token.text in _PAIRS.values():
            open_.append(index)
        elif token.kind == "sign" and token.text in _PAIRS:
            found[open_.pop()] = index
    return found


def _limit(macros: Sequence[_Macro]) -> None:
    """Refuse more loops, or deeper ones, than anybody can read."""
    if len(macros) > MAX_MACROS:
        raise TokenError(f"more than {MAX_MACROS} of map, filter, all and exists")
    deepest = max((sum(_encloses(outer, macro) for outer in macros) for macro in macros), default=0)
    if deepest > MAX_NESTED_MACROS:
        raise TokenError(f"map, filter, all and exists nested more than {MAX_NESTED_MACROS} deep")


def _encloses(outer: _Macro, inner: _Macro) -> bool:
    return outer.start <= inner.start < outer.end


def path_at(tokens: Sequence[Token], index: int) -> tuple[tuple[str | int, ...], int]:
    """Return the members that are written out from `index` on, and where they end."""
    path: list[str | int] = []
    while True:
        if _text(tokens, index) == "." and _text(tokens, index + 2) != "(":
            path.append(_text(tokens, index + 1))
            index += 2
        elif _text(tokens, index) == "[" and _text(tokens, index + 2) == "]":
            part = _literal(tokens[index + 1])
            if part is None:
                return tuple(path), index
            path.append(part)
            index += 3
        else:
            return tuple(path), index


def _literal(token: Token) -> str | int | None:
    """Return the member name or list index that a literal between brackets is, or None for anything computed."""
    if token.kind == "number" and token.text.isdecimal():
        return int(token.text)
    plain = PLAIN_STRING.fullmatch(token.text)
    return plain["text"] if token.kind == "string" and plain else None


@dataclass(frozen=True)
class Call:
    """A call: `arguments` are counted, and `is_member` says that it is written behind a dot."""

    name: str
    arguments: int
    is_member: bool


def calls_in(source: str) -> Iterator[Call]:
    """Yield the calls in `source`, a well-formed expression, in their order; macros among them."""
    tokens = tokenize(source)
    closing = closing_of(tokens)
    for index, (token, after) in enumerate(pairwise(tokens)):
        if token.kind == "name" and after.kind == "sign" and after.text == "(":
            is_member = index > 0 and tokens[index - 1].text == "."
            yield Call(token.text, _count(tokens, index + 1, closing), is_member)


def _count(tokens: Sequence[Token], opening: int, closing: dict[int, int]) -> int:
    """Return how many arguments stand between the bracket at `opening` and its closing one."""
    index, end = opening + 1, closing[opening]
    count = 1 if index < end else 0
    while index < end:
        count += tokens[index].kind == "sign" and tokens[index].text == ","
        index = closing.get(index, index) + 1
    return count
