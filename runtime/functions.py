"""Functions that packs add to expressions: pure, typed and with a version, found through ``countersign.functions``.

Each entry point has the name of its pack and names a sequence of `Function`. A function gives the same for the same
arguments, always and everywhere: a plan is made again from the record, years later, and has to come out alike. So it
reads no clock, no file, no settings and no network, keeps nothing, and raises ValueError over what it cannot take. What
it gives may never change under its version: whoever changes that offers a new version, and the old one beside it for as
long as definitions name it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

FUNCTIONS_GROUP = "countersign.functions"


class Type(StrEnum):
    """What an argument or a result is, by JSON Schema's names."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "array"
    OBJECT = "object"

    def fits(self, value: Any) -> bool:
        """Return whether a value of JSON is of this type; a boolean is no number."""
        if isinstance(value, bool):
            return self is Type.BOOLEAN
        return isinstance(value, _PYTHON[self])


_PYTHON: dict[Type, type | tuple[type, ...]] = {
    Type.TEXT: str,
    Type.INTEGER: int,
    Type.NUMBER: (int, float),
    Type.BOOLEAN: bool,
    Type.LIST: list,
    Type.OBJECT: dict,
}


@dataclass(frozen=True)
class Function:
    """A function of a pack. Its name begins with the pack's: `kyc_is_lei` of the pack `kyc`.

    `run` is given the arguments in their order, as JSON, and returns JSON. It is called inside a transaction, so it
    takes no longer than it takes to look at them once: what is given and returned is limited, time is not.
    """

    name: str
    version: int
    params: tuple[Type, ...]
    returns: Type
    run: Callable[..., Any]
