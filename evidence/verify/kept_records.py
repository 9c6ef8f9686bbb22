"""Keeps records in little memory: what several have alike is one, and so is the set of the names that they have."""

from array import array
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

Record = TypeVar("Record", bound=BaseModel)

_NONE_MORE: dict[str, Any] = {}
"""What records have beside their named members where that is nothing."""
_ONE_ALREADY = (type(None), bool)
"""The types of which Python has each value once."""
_SHORT, _FEW = 64, 64
"""Characters of a text, such as a digest, and items of a list, in which others may have a part."""


class Shared:
    """What records have had until now. They are frozen, so that nobody changes one through another."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._names: dict[frozenset[str], set[str]] = {}
        self._parts: dict[bytes, Any] = {}

    def keep(self, record: Record) -> Record:
        """Return the record itself, in which all is now that of records before, where it is alike."""
        members = record.__dict__
        for name, value in members.items():
            if value.__class__ not in _ONE_ALREADY:
                members[name] = self._kept(value)
        names = record.__pydantic_fields_set__
        object.__setattr__(record, "__pydantic_fields_set__", self._names.setdefault(frozenset(names), names))
        if record.__pydantic_extra__ == _NONE_MORE:
            object.__setattr__(record, "__pydantic_extra__", _NONE_MORE)
        return record

    def _kept(self, value: Any) -> Any:
        if value.__class__ is str:
            return self._texts.setdefault(value, value) if len(value) <= _SHORT else value
        texts = len(self._texts)
        if isinstance(value, BaseModel):
            kept: Any = self.keep(value)
        elif value.__class__ is list and len(value) <= _FEW:
            kept = [*map(self._kept, value)]
        else:
            return value
        return kept if len(self._texts) > texts else self._one(kept)  # with a new text, it is not alike

    def _one(self, value: Any) -> Any:
        """Return what was kept before and has the very same parts, else the value, which is kept with its parts."""
        parts: Sequence[Any] = value
        if isinstance(value, BaseModel):
            parts = (*value.__dict__.values(), value.__pydantic_fields_set__, value.__pydantic_extra__)
        ids = array("Q", map(id, (value.__class__, *parts))).tobytes()  # a tuple of numbers is much larger
        return self._parts.setdefault(ids, value)
