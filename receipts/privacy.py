"""Takes out of texts from outside what must not be put on record: redacted values and configured secrets.

A value is known in every form in which other programs repeat it: plain, percent-encoded (both ways of writing a space),
base64 (both alphabets, wherever in a longer text it stood), hexadecimal, escaped for JSON, Python and HTML. Of a token,
parts are secrets too. What is short is taken out where it stands as a word by itself.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from receipts import canonical
from receipts.redaction import MARKER, Redacted, hidden_values, hide

_GRAM = 8
"""Characters by which a form is found; shorter forms are looked for one by one."""
_WORD = 5
"""Characters from which a form is looked for inside of words, too."""
_ENCODED = 4
"""Bytes from which a value's encodings are looked for: of less they are everybody's words."""
_DIGITS = 6
"""Digits from which a number in a document is compared."""
_PART = 16
"""Characters that make a part of a redacted value count as the value; of a very long one, it takes a hundredth."""

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")
_SAFE = (b"~", b"~/", b"*", b"~!*'()", b"~!*'();,/?:@&=+$#")
_CONTAINED = 6
"""Characters from which a hidden value hides the other texts of its document that hold it."""
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+(?=\S)", re.IGNORECASE)
_CUT_OFF = re.compile(r"\s?(?:…|\.\.\.)|[\"'\s]*$")
_REPEATS = 4
"""Places at which the same characters are looked for in one form: of a form that repeats itself, more are no help."""

Region = tuple[int, int]


@dataclass(frozen=True)
class Secret:
    """A text that must not be seen; parts of `part` characters and more are as secret as the whole."""

    text: str
    part: int = _PART


@dataclass(frozen=True)
class _Form:
    """One way of writing a secret: as much of it as `least` characters is the secret."""

    text: str
    least: int

    def places(self) -> range:
        """Return where its grams are taken, so that each part that is long enough holds one."""
        return range(0, len(self.text) - _GRAM + 1, self.least - _GRAM + 1)

    def around(self, text: str, start: int, place: int) -> Region | None:
        """Return how far `text` is this form around a gram that both have, or None if that is too little."""
        before, after = 0, _GRAM
        while before < min(start, place) and text[start - before - 1] == self.text[place - before - 1]:
            before += 1
        left = min(len(text) - start, len(self.text) - place)
        while after < left and text[start + after] == self.text[place + after]:
            after += 1
        region = start - before, start + after
        is_cut_off = before == place and _CUT_OFF.match(text, region[1]) is not None
        return region if before + after >= self.least or is_cut_off else None


class _Index:
    """Secrets, prepared for finding them in many texts."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._grams: dict[str, list[tuple[_Form, int]]] = {}
        short = set[str]()
        for secret in secrets:
            for text in _forms(secret.text):
                if len(text) < _GRAM:
                    short.add(text)
                else:
                    self._add(_Form(text, min(len(text), max(secret.part, _GRAM, len(text) // 100))))
        longest_first = sorted(short, key=lambda text: (-len(text), text))
        self._short = re.compile("|".join(map(_pattern, longest_first))) if short else None

    def _add(self, form: _Form) -> None:
        for place in form.places():
            known = self._grams.setdefault(form.text[place : place + _GRAM], [])
            if sum(other is form for other, _ in known) < _REPEATS:
                known.append((form, place))

    def regions(self, text: str) -> Iterator[Region]:
        """Yield where secrets stand in the text."""
        if self._short:
            yield from (found.span() for found in self._short.finditer(text))
        covered: dict[int, int] = {}  # up to where each form was found
        for start in range(len(text) - _GRAM + 1 if self._grams else 0):
            for form, place in self._grams.get(text[start : start + _GRAM], ()):
                if start >= covered.get(id(form), 0) and (region := form.around(text, start, place)):
                    covered[id(form)] = region[1]
                    yield region


@dataclass(frozen=True)
class Privacy:
    """What is taken out. Building one costs more than using it."""

    indexes: tuple[_Index, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[Secret]) -> "Privacy":
        """Return what takes out these secrets."""
        return cls((_Index(secrets),))

    def hiding(self, *values: Any) -> "Privacy":
        """Return what takes out, too, the texts and numbers that these JSON values hold."""
        texts = {text for value in values for text in _texts(value)}
        return Privacy((*self.indexes, _Index(map(Secret, sorted(texts))))) if texts else self

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        for index in self.indexes:
            text = _without(text, index.regions(text))
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value without secrets, in names too; what shows none is returned as it is."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._members(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = json.dumps(value)
            return value if len(written) < _DIGITS or self.text(written) == written else MARKER
        return value

    def _members(self, value: dict[str, Any]) -> dict[str, Any]:
        cleaned: dict[str, Any] = {}
        for name, item in value.items():
            shown = self.text(name)
            while shown in cleaned:  # two names that hid secrets stay two members
                shown += "'"
            cleaned[shown] = self.value(item)
        return cleaned


def redact_everywhere(document: Any, pointers: Iterable[str] = ()) -> Redacted:
    """Redact a document, and with it each text in it that holds a hidden value; its canonical form is made after."""
    pointers = tuple(pointers)
    redacted = hide(document, pointers)
    if not redacted.paths:
        return redacted
    hidden = (text for value in hidden_values(document, pointers) for text in _texts(value))
    privacy = Privacy().hiding(*(text for text in hidden if len(text) >= _CONTAINED))
    holding = [path for path, text in _places(redacted.value, "") if privacy.text(text) != text]
    return hide(document, (*pointers, *holding)) if holding else redacted


def _places(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each text of a document with its JSON pointer."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _places(item, canonical.pointer(path, name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _places(item, f"{path}/{index}")


def _without(text: str, regions: Iterable[Region]) -> str:
    """Return the text with one marker for each stretch that the regions cover."""
    parts: list[str] = []
    position = 0
    for start, end in sorted(regions):
        if start > position or not parts:
            parts += [text[position:start], MARKER]
        position = max(position, end)
    return "".join((*parts, text[position:]))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers that a hidden value holds."""
    if isinstance(value, str):
        yield from (text for text in (value, value.strip(), _SCHEME.sub("", value.strip())) if text)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)


def _pattern(short: str) -> str:
    escaped = re.escape(short)
    return escaped if len(short) >= _WORD else rf"(?<![^\W_]){escaped}(?![^\W_])"


def _forms(text: str) -> set[str]:
    """Return the forms in which a text is repeated."""
    data = text.encode("utf-8", "surrogatepass")
    found = {text}
    if len(data) >= _ENCODED:
        quoted = json.dumps(text)[1:-1]
        found |= {quoted, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(quoted)[1:-1], repr(text)[1:-1]}
        found |= {html.escape(text), data.hex(), data.hex().upper()}
        found |= {form for safe in _SAFE for form in _percent_encoded(data, safe)}
        found |= set(_base64(data))
    return {form for form in found if form}


def _percent_encoded(data: bytes, safe: bytes) -> Iterator[str]:
    kept = _UNRESERVED | frozenset(safe)
    for pattern in ("%{:02X}", "%{:02x}"):
        written = "".join(chr(byte) if byte in kept else pattern.format(byte) for byte in data)
        yield written
        yield written.replace("%20", "+")


def _base64(data: bytes) -> Iterator[str]:
    """Yield the characters that stand for the data alone, wherever it begins in what was encoded; and the whole."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        yield from (whole, whole.rstrip("="))
        for before in range(3):
            written = encode(bytes(before) + data).decode()
            yield written[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
