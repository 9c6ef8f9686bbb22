"""Keeps records in little memory: what several have alike is one, and so is the set of the names that they have."""

from collections.abc import Hashable
from typing import Any, TypeVar

from pydantic import BaseModel

Record = TypeVar("Record", bound=BaseModel)

_NONE_MORE: dict[str, Any] = {}
"""What records have beside their named members where that is nothing."""
_SHORT, _FEW = 64, 64
"""Characters of a text, such as a digest, and items of a list, in which others may have a part."""


class Shared:
    """What records have had until now. They are frozen, so that nobody changes one through another."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, Any] = {}

    def keep(self, record: Record) -> Record:
        """Return the record itself, in which texts are now those of records before, where they are alike."""
        members = record.__dict__
        for name, value in members.items():
            members[name] = self._kept(value)
        names = record.__pydantic_fields_set__
        object.__setattr__(record, "__pydantic_fields_set__", self._seen.setdefault(frozenset(names), names))
        if record.__pydantic_extra__ == _NONE_MORE:
            object.__setattr__(record, "__pydantic_extra__", _NONE_MORE)
        return record

    def _kept(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) <= _SHORT:
            return self._seen.setdefault(value, value)
        if isinstance(value, BaseModel):
            return self.keep(value)
        if isinstance(value, list | tuple) and len(value) <= _FEW:
            return type(value)(map(self._kept, value))
        return value
