"""Rules: the verifier's procedure is a list of them, each with a name and the sentence that it holds a bundle to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
