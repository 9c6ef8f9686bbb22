"""The forms in which other programs repeat a text."""

import base64
import html
import json
import urllib.parse
from collections.abc import Callable


def _small_escapes(text: str) -> str:
    head, *escapes = text.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in escapes)])


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "URL, a space as %20": lambda text: urllib.parse.quote(text, safe=""),
    "URL, slashes left": urllib.parse.quote,
    "URL, a space as +": urllib.parse.quote_plus,
    "URL, small letters": lambda text: _small_escapes(urllib.parse.quote(text, safe="")),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON as it is": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "Python": lambda text: repr(text)[1:-1],
    "HTML": html.escape,
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
}


def inside(text: str) -> list[str]:
    """Return base64 of longer texts in which a text stands, at each place that makes a difference."""
    return [base64.b64encode(b"x" * before + text.encode() + b"yz").decode() for before in range(3)]


def cores(text: str) -> list[str]:
    """Return the characters that `inside` gives for the text alone, whatever stands beside it."""
    size = len(text.encode())
    return [written[-(-before * 8 // 6) : (before + size) * 8 // 6] for before, written in enumerate(inside(text))]
