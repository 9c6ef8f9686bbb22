"""Whether a text can be what a template of the definition gives, as far as that can be told without evaluating CEL."""

import re
from collections.abc import Mapping
from typing import Any

from receipts.piecewise import member

_HOLE = re.compile(r"\$\{([^{}]*)\}")
_PARAM = re.compile(r"params\.([A-Za-z_][A-Za-z0-9_]*)")
_MOST_UNKNOWN = 4
"""Parts that may be anything: with more of them, and with longer texts, matching takes too long."""
_LONGEST = 512
_HIDDEN = "[redacted"


def can_give(template: str, text: str, known: Mapping[str, str], params: Mapping[str, Any]) -> bool:
    """Return whether `text` fits: its fixed parts, what is `known` (`run.id`), and params that are plain and shown."""
    if "$${" in template or len(text) > _LONGEST:
        return len(text) <= _LONGEST
    fixed, unknown = list[str](), 0
    for number, part in enumerate(_HOLE.split(template)):
        value = part if number % 2 == 0 else _value(part.strip(), known, params)
        fixed.append(".*" if value is None else re.escape(value))
        unknown += value is None
    return unknown > _MOST_UNKNOWN or re.fullmatch("".join(fixed), text, re.DOTALL) is not None


def _value(expression: str, known: Mapping[str, str], params: Mapping[str, Any]) -> str | None:
    """Return what an expression gives; None where that cannot be told."""
    if expression in known:
        return known[expression]
    named = _PARAM.fullmatch(expression)
    value = member(params, named[1]) if named else None
    return value if isinstance(value, str) and _HIDDEN not in value else None
