"""What comes of an expression: a value, an error, or that it has to be evaluated elsewhere. Imports no evaluator."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from receipts.canonical import digest
from runtime.definitions.problems import DefinitionError


class ExpressionError(DefinitionError):
    """An expression cannot be compiled or evaluated; the message quotes it and says why."""


class TooCostlyError(ExpressionError):
    """An expression costs more than it may; the message says how much."""


@dataclass(frozen=True)
class Costly:
    """An expression that costs too much to be evaluated here, with what it needs. `key` names both."""

    source: str
    needed: dict[str, Any]
    pinned: Mapping[str, int] | None

    @cached_property
    def key(self) -> str:
        """Return the digest of the expression and its values."""
        return digest({"source": self.source, "needed": dict(self.needed), "pinned": dict(self.pinned or {})})


@dataclass(frozen=True)
class Outcome:
    """What a costly expression gave: a value, or what is wrong."""

    value: Any
    error: str = ""


class NotEvaluatedError(Exception):
    """A plan needs the value of a costly expression: it has to be evaluated elsewhere first."""

    def __init__(self, costly: Costly) -> None:
        super().__init__(f"expression '{costly.source}' costs much and is to be evaluated elsewhere")
        self.costly = costly
