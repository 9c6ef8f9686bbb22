"""What may come in from outside: JSON that can be put on record, and text that the database can hold."""

from typing import Any

from receipts.canonical import CanonicalError, dumps

ERROR_LIMIT = 2000
_NUL = b"\\u0000"


def fault(value: Any) -> str | None:
    """Return why an object from outside cannot be put on record, or None."""
    if not isinstance(value, dict):
        return f"not an object but {type(value).__name__}"
    try:
        text = dumps(value)
    except CanonicalError as error:
        return str(error)
    return "it holds a NUL character" if _NUL in text else None


def error_text(text: str) -> str:
    """Return an error's text as it can be kept: without NUL, and not longer than a person would read."""
    kept = text.replace("\x00", "\\0").encode("utf-8", "replace").decode()
    return kept if len(kept) <= ERROR_LIMIT else f"{kept[:ERROR_LIMIT]} … {len(kept) - ERROR_LIMIT} more characters"
