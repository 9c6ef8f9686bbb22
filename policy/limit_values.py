"""Values of a field between which the tests of limits can tell: numbers, texts and what cannot be read.

Every other value is treated as one of them is. Lists are made of them, where lists matter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, combinations, count, pairwise
from typing import Any

from policy.differences import shown_value
from policy.limit_model import FieldTest, as_number

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?")
_CENT = Decimal("0.01")
MOST_PATTERNS = 10
"""Patterns of a field: each combination of them is looked at."""


class TooManyCellsError(Exception):
    """More kinds of questions than are looked at."""


@dataclass(frozen=True)
class Value:
    """One value of a field or a member, as JSON, and in words.

    `holds` are the patterns that the text is taken to match. Nobody looks for such a text: `is_made_up` says that the
    JSON may be another one.
    """

    json: Any
    words: str
    holds: frozenset[str] = frozenset()
    is_made_up: bool = False


def several(items: Sequence[Value]) -> Value:
    """Return a list of values."""
    words = " and ".join(item.words for item in items)
    return Value([item.json for item in items], f"of {words}", is_made_up=any(item.is_made_up for item in items))


UNREAD = Value(None, "that cannot be read")


def another_than(named: Iterable[str]) -> Value:
    """Return a text that is none of these."""
    known = frozenset(named)
    free = next(text for text in (f"other{number or ''}" for number in count()) if text not in known)
    words = " and ".join(shown_value(text) for text in sorted(known))
    return Value(free, f"another than {words}" if known else "any text")


def values(tests: Sequence[FieldTest], *, with_texts: bool) -> Iterator[Value]:
    """Yield values of every kind between which these tests can tell, the plainest first."""
    points = _points(tests)
    named = {one for test in tests for one in test.one_of or () if isinstance(one, str)}
    spelled = (_spelled(number, named) for number in points)
    texts = [Value(text, shown_value(text)) for text in (*sorted(named), *spelled) if text]
    patterns = {test.matches for test in tests if test.matches is not None}
    numbers = (Value(_json(number), f"{number:f}") for number in points)
    kinds = [numbers, _by_pattern([another_than(named), *texts], patterns) if with_texts else ()]
    yield from chain(*(kinds if len(points) > 1 else reversed(kinds)))
    yield from (Value(one, shown_value(one)) for one in (True, False))
    yield UNREAD


def _points(tests: Iterable[FieldTest]) -> list[Decimal]:
    """Return the numbers that tests name, and one between each two neighbours, and beyond the ends."""
    named = {number for test in tests for number in (test.over, test.under, *_numbers(test.one_of or ()))}
    cuts = sorted(number for number in named if number is not None)
    if not cuts:
        return [Decimal(1)]
    between = [_between(one, other) for one, other in pairwise(cuts)]
    inner = [number for pair in zip(cuts, between, strict=False) for number in pair]
    return [cuts[0] - _step(cuts[0]), *inner, cuts[-1], cuts[-1] + _step(cuts[-1])]


def _between(one: Decimal, other: Decimal) -> Decimal:
    return min(one + _step(one), (one + other) / 2)


def _step(number: Decimal) -> Decimal:
    """Return how far a number beside this one is: a cent, and more where a number of JSON cannot tell that."""
    return max(_CENT, abs(number) / 10**12)


def _numbers(scalars: Iterable[Any]) -> Iterator[Decimal]:
    for one in scalars:
        number = number_of(one)
        if number is not None:
            yield number


def number_of(value: Any) -> Decimal | None:
    """Return a number, or the decimal number that a text is; None of anything else."""
    if isinstance(value, str):
        return Decimal(value) if _DECIMAL.fullmatch(value) else None
    return None if value is None or isinstance(value, bool) else as_number(value)


def _json(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _spelled(number: Decimal, named: set[str]) -> str | None:
    """Return a number as a decimal text that no test names; None if it has too many digits."""
    text = f"{number:f}"
    while text in named:
        text += "0" if "." in text else ".0"
    return text if _DECIMAL.fullmatch(text) else None


def _by_pattern(texts: Sequence[Value], patterns: set[str]) -> Iterator[Value]:
    """Yield each text with each combination of patterns: regular expressions are compared by their text alone."""
    if len(patterns) > MOST_PATTERNS:
        raise TooManyCellsError
    for text in texts:
        for many in range(len(patterns) + 1):
            for held in combinations(sorted(patterns), many):
                yield _matching(text, frozenset(held), patterns)


def _matching(text: Value, held: frozenset[str], patterns: set[str]) -> Value:
    if not patterns:
        return text
    said = [f"matches {shown_value(one)}" for one in sorted(held)]
    said += [f"does not match {shown_value(one)}" for one in sorted(patterns - held)]
    return Value(text.json, f"{text.words} that {' and '.join(said)}", held, is_made_up=True)


def meets(test: FieldTest, value: Value) -> bool:
    """Return whether a value meets a test: each of its members, and what cannot be read counts as met."""
    number = number_of(value.json)
    return (
        (test.over is None or number is None or number > test.over)
        and (test.under is None or number is None or number < test.under)
        and (test.one_of is None or value.json is None or any(_same(value.json, one) for one in test.one_of))
        and (test.matches is None or not isinstance(value.json, str) or test.matches in value.holds)
    )


def _same(one: Any, other: Any) -> bool:
    """Compare scalars as JSON does: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and bool(one == other)
    return as_number(one) == as_number(other)
