"""Stored values: what stands in a column as a JSON object, by the names of its members."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import TypeAdapter


class Stored:
    """A base of dataclasses stored as JSON; with `leaves_out_defaults`, without the members that have their default."""

    leaves_out_defaults: ClassVar[bool] = False

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Read what is stored."""
        found: Self = _form(cls).validate_python(document)
        return found

    def document(self) -> dict[str, Any]:
        """Return it as it is stored and put on record."""
        said: dict[str, Any] = _form(type(self)).dump_python(
            self, mode="json", exclude_defaults=self.leaves_out_defaults
        )
        return said


_FORMS: dict[type[Stored], TypeAdapter[Any]] = {}


def _form(kind: type[Stored]) -> TypeAdapter[Any]:
    if kind not in _FORMS:
        _FORMS[kind] = TypeAdapter(kind)
    return _FORMS[kind]
