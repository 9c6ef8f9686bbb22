"""What can be read off a condition's tokens: what it compares with what, and whether it can be a boolean at all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.definitions.cel.tokens import PLAIN_STRING, Reference, Token, path_at, tokenize

_ENDS = frozenset({"", "(", ")", "[", "]", "{", "}", ",", "&", "|", "?", ":"})
_OPERATORS = (
    ("==", ("=", "=")),
    ("!=", ("!", "=")),
    ("<=", ("<", "=")),
    (">=", (">", "=")),
    ("<", ("<",)),
    (">", (">",)),
)
_CONVERSIONS = frozenset({"double", "duration", "int", "size", "string", "timestamp"})
_ARITHMETIC = frozenset("+-*/%")
_OF_BOOLEANS = frozenset("=<>!&|?")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Literal:
    """A text, number or boolean that is written out."""

    value: Any


Operand = Reference | Literal


@dataclass(frozen=True)
class Comparison:
    """Two operands, each a path or a literal, and the operator between them."""

    left: Operand
    operator: str
    right: Operand


def comparisons(source: str) -> Iterator[Comparison]:
    """Yield the comparisons in `source`, a well-formed expression, whose operands are paths or literals."""
    tokens = tokenize(source)
    for index in range(len(tokens)):
        operator, after = _operator(tokens, index)
        if not operator:
            continue
        left, right = _operand_before(tokens, index), _operand_after(tokens, after)
        if left is not None and right is not None:
            yield Comparison(left, operator, right)
    for index in (index for index, token in enumerate(tokens) if token == Token("name", "in")):
        left = _operand_before(tokens, index)
        if left is not None and _text(tokens, index + 1) == "[":
            yield from (Comparison(left, "in", literal) for literal in _listed(tokens, index + 2))


def is_number_or_text(source: str) -> bool:
    """Tell whether `source`, a well-formed expression, counts or converts, so that it gives no boolean."""
    outer = _outermost(tokenize(source))
    if any(token.kind == "sign" and token.text in _OF_BOOLEANS for token in outer) or Token("name", "in") in outer:
        return False
    if any(token.kind == "sign" and token.text in _ARITHMETIC for token in outer):
        return True
    words = [token.text for token in outer]
    called = words[-3:-2] if words[-2:] == ["(", ")"] else []
    return bool(called) and called[0] in _CONVERSIONS and (len(words) == len(("size", "(", ")")) or words[-4] == ".")


def _outermost(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens that stand in no brackets, and the brackets around the others."""
    found: list[Token] = []
    closing: list[str] = []
    for token in tokens:
        is_sign = token.kind == "sign"
        if is_sign and closing and token.text == closing[-1]:
            closing.pop()
        if not closing:
            found.append(token)
        if is_sign and token.text in _CLOSING:
            closing.append(_CLOSING[token.text])
    return found


def _operator(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    for operator, signs in _OPERATORS:
        if tuple(token.text for token in tokens[index : index + len(signs)] if token.kind == "sign") == signs:
            return operator, index + len(signs)
    return "", index


def _listed(tokens: Sequence[Token], start: int) -> Iterator[Literal]:
    """Yield the literals of a list that begins at `start`; what follows something else in it is passed over."""
    while True:
        literal, end = _operand(tokens, start)
        if not isinstance(literal, Literal) or _text(tokens, end) not in (",", "]"):
            return
        yield literal
        start = end + 1


def _operand_after(tokens: Sequence[Token], start: int) -> Operand | None:
    operand, end = _operand(tokens, start)
    return operand if _text(tokens, end) in _ENDS else None


def _operand_before(tokens: Sequence[Token], end: int) -> Operand | None:
    """Return the operand that ends at `end` and begins an expression, or None."""
    for start in range(end - 1, -1, -1):
        operand, found = _operand(tokens, start)
        if operand is not None and found == end and _text(tokens, start - 1) in _ENDS:
            return operand
    return None


def _operand(tokens: Sequence[Token], start: int) -> tuple[Operand | None, int]:
    token = tokens[start] if start < len(tokens) else Token("sign", "")
    if token.kind == "string":
        plain = PLAIN_STRING.fullmatch(token.text)
        return (Literal(plain["text"]) if plain else None), start + 1
    if token.kind == "number":
        return Literal(_number(token.text)), start + 1
    if token.text in ("true", "false"):
        return Literal(token.text == "true"), start + 1
    if token.kind != "name" or token.text in ("null", "in") or _text(tokens, start + 1) == "(":
        return None, start
    path, end = path_at(tokens, start + 1)
    return Reference(token.text, path), end


def _number(text: str) -> float:
    digits = text.rstrip("uU")
    return int(digits, 0) if digits[:2].lower() == "0x" else int(digits) if digits.isdecimal() else float(digits)


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""
