"""Rules: the verifier's procedure is a list of them, each with a name and the sentence that it holds a bundle to.

Beside them stands what they compare with: a leaf's data as a record, moments and durations, and the words for what
differs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import isodate
from pydantic import BaseModel, ValidationError

from evidence import names
from evidence.verify.contents import BrokenError, Record
from receipts.chain import Leaf

Subject_contra = TypeVar("Subject_contra", contravariant=True)


@dataclass(frozen=True)
class Rule(Generic[Subject_contra]):
    """`check` raises BrokenError at the first thing that breaks the rule, or says what it looked at: `3 votes`."""

    name: str
    sentence: str
    check: Callable[[Subject_contra], str]


def rule(name: str, sentence: str) -> Callable[[Callable[[Subject_contra], str]], Rule[Subject_contra]]:
    """Make a function the check of a rule."""
    return lambda check: Rule(name, sentence, check)


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Say how many were looked at."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


LONGEST = 200
"""Characters of a value that are told."""


def broken_leaf(leaf: Leaf, what: str) -> BrokenError:
    """Say what is wrong with a leaf."""
    return BrokenError(names.AUDIT, f"line {leaf.seq}: {what}")


def data_of(model: type[Record], leaf: Leaf) -> Record:
    """Return the data of a leaf as a record."""
    try:
        return model.model_validate(leaf.data)
    except ValidationError as error:
        first = error.errors()[0]
        raise broken_leaf(leaf, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def duration_of(text: str, member: str) -> timedelta:
    """Return an ISO 8601 duration of days and less."""
    try:
        found = isodate.parse_duration(text)
    except (ValueError, OverflowError) as error:
        raise BrokenError(member, f"{text!r} is no duration") from error
    if not isinstance(found, timedelta):
        raise BrokenError(member, f"{text!r} has no fixed length")
    return found


def moment(text: str) -> datetime:
    """Return a moment as it stands in records."""
    return datetime.fromisoformat(text)


def same(here: object, there: object) -> bool:
    """Return whether two values are the same in JSON, where 1 is not true."""
    if here is there:  # as what records have alike is
        return True
    if isinstance(here, str) or here is None:
        return here == there
    if isinstance(here, dict) and isinstance(there, dict):
        return here.keys() == there.keys() and all(same(value, there[name]) for name, value in here.items())
    if isinstance(here, BaseModel) and isinstance(there, BaseModel):
        return same(here.model_dump(), there.model_dump())
    if isinstance(here, list | tuple) and isinstance(there, list | tuple):
        return len(here) == len(there) and all(map(same, here, there))
    return here == there and isinstance(here, bool) == isinstance(there, bool)


def agree(member: str, other: str, **facts: tuple[object, object]) -> None:
    """Raise at the first fact that the record, named first, and the other side tell differently."""
    for what, (here, there) in facts.items():
        if here is not there and not same(here, there):
            raise BrokenError(member, f"{what} is {_shown(here)}, and {other} says {_shown(there)}")


def _shown(value: object) -> str:
    """Return a value as it is told, cut off where it is long."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
