"""A reader of the calls in an expression: of which function, with how many arguments, and how it is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runtime.definitions.cel.tokens import Token, closing_of, tokenize


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
