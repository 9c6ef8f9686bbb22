"""What is wrong with a value in a file, in words of the file and not of the library that found it."""

from collections.abc import Mapping
from typing import Any

_EXPECTED = {
    "bool": "true or false",
    "dict": "a mapping",
    "int": "a whole number",
    "list": "a list",
    "model": "a mapping",
    "string": "text",
}


def worded(fault: Mapping[str, Any]) -> str:
    """Return what one of pydantic's faults says."""
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "missing":
        return "this key is missing"
    if kind == "extra_forbidden":
        return "unknown key"
    if kind == "literal_error":
        return f"expected {context['expected']}, not {_short(fault['input'])}"
    if kind == "string_pattern_mismatch":
        return f"{fault['input']!r} does not match {context['pattern']}"
    if kind in ("too_short", "string_too_short") and context["min_length"] == 1:
        return "may not be empty"
    if (name := kind.removesuffix("_type").removesuffix("_parsing")) in _EXPECTED:
        return f"expected {_EXPECTED[name]}, not {_short(fault['input'])}"
    if kind == "value_error":
        return str(context["error"])
    return str(fault["msg"])[:1].lower() + str(fault["msg"])[1:]


def _short(value: Any) -> str:
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), repr(value)[:60])
