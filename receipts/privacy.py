"""Takes out of texts from outside what must not be put on record: redacted values and configured secrets.

A value is known in every form in which other programs repeat it: plain, percent-encoded (both ways of writing a space),
base64 (both alphabets, wherever in a longer text it stood), hexadecimal, escaped for JSON, Python and HTML. It is taken
out whole, and where a text was cut off in it. What could be a word or a number is taken out only where it stands alone:
the words that share characters with a secret stay as they are.

Secret in settings are values of the type SecretStr, and passwords in addresses. Their names decide nothing.
"""

import base64
import html
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, SecretStr

from receipts import canonical
from receipts.redaction import MARKER, Redacted, hidden_values, hide

_GRAM = 8
"""Characters by which a form is found; shorter forms are looked for one by one."""
_INSIDE = 5
"""Characters from which a form that is no word is looked for inside of words, too."""
_ENCODED = 4
"""Bytes from which a value's encodings are looked for: of less they are everybody's words."""
_DIGITS = 6
"""Digits from which a number in a document is compared."""
_CUT = 16
"""Characters of a form, or half of a shorter one, that are the value where the text was cut off after them."""

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")
_SAFE = (b"~", b"~/", b"*", b"~!*'()", b"~!*'();,/?:@&=+$#")
_CONTAINED = 6
"""Characters from which a hidden value hides the other texts of its document that hold it."""
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+(?=\S)", re.IGNORECASE)
_MARK = re.compile(r"\s?(?:…|\.\.\.)")
_CLOSING = "\"' \t\r\n"
_WORDS = re.compile(r"[^\W\d_]+(?:[\s.,'\u2019-]+[^\W\d_]+)*|\d+(?:[.,]\d+)*")
_BEFORE = r"(?:(?<![^\W_])|(?<=\\[abfnrtv])|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})|(?<=%[0-9A-Fa-f]{2}))"
"""No letter or digit stands before, unless it ends an escaped character."""
_AFTER = r"(?![^\W_])"
_STARTS, _ENDS = re.compile(_BEFORE), re.compile(_AFTER)

Region = tuple[int, int]


@dataclass(frozen=True)
class _Form:
    """One way of writing a secret. Only what is no word and no number is the secret inside of longer words, too."""

    text: str
    inside: bool

    @property
    def least(self) -> int:
        """Return how much of it is the secret where a text was cut off."""
        return max(_GRAM, min(_CUT, len(self.text) // 2))

    def region(self, text: str, start: int, cuts: list[int]) -> Region | None:
        """Return where it stands in the text from `start` on, whole or up to a cut; None if it does not."""
        if not self.inside and not _STARTS.match(text, start):
            return None
        end = start + len(self.text)
        if text.startswith(self.text, start):
            return (start, end) if self.inside or _ENDS.match(text, end) else None
        following = bisect_left(cuts, start + self.least)
        if following == len(cuts) or cuts[following] > end:
            return None
        part = text[start : cuts[following]]
        is_telling = len(part) >= _CUT or not _WORDS.fullmatch(part)
        return (start, cuts[following]) if is_telling and self.text.startswith(part) else None

    def pattern(self) -> str:
        """Return what finds a short form."""
        escaped = re.escape(self.text)
        return escaped if self.inside and len(self.text) >= _INSIDE else f"{_BEFORE}{escaped}{_AFTER}"


class _Index:
    """Secrets, prepared for finding them in many texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._long: dict[str, list[_Form]] = {}
        short = set[_Form]()
        for form in {form for secret in secrets for form in _forms(secret)}:
            if len(form.text) < _GRAM:
                short.add(form)
            else:
                self._long.setdefault(form.text[:_GRAM], []).append(form)
        longest_first = sorted(short, key=lambda form: (-len(form.text), form.text))
        self._short = re.compile("|".join(form.pattern() for form in longest_first)) if short else None

    def regions(self, text: str) -> Iterator[Region]:
        """Yield where secrets stand in the text."""
        if self._short:
            yield from (found.span() for found in self._short.finditer(text))
        if not self._long:
            return
        cuts = [*(found.start() for found in _MARK.finditer(text)), len(text.rstrip(_CLOSING))]
        covered: dict[int, int] = {}  # up to where each form was found
        for start in range(len(text) - _GRAM + 1):
            for form in self._long.get(text[start : start + _GRAM], ()):
                if start >= covered.get(id(form), 0) and (region := form.region(text, start, cuts)):
                    covered[id(form)] = region[1]
                    yield region


@dataclass(frozen=True)
class Privacy:
    """What is taken out. Building one costs more than using it."""

    indexes: tuple[_Index, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[str]) -> "Privacy":
        """Return what takes out these secrets."""
        return cls((_Index(secrets),))

    def hiding(self, *values: Any) -> "Privacy":
        """Return what takes out, too, the texts and numbers that these JSON values hold."""
        texts = {text for value in values for text in _texts(value)}
        return Privacy((*self.indexes, _Index(sorted(texts)))) if texts else self

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


def _forms(text: str) -> Iterator[_Form]:
    """Yield the forms in which a text is repeated."""
    data = text.encode("utf-8", "surrogatepass")
    written, encoded = {text}, set[str]()
    if len(data) >= _ENCODED:
        quoted = json.dumps(text)[1:-1]
        written |= {quoted, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(quoted)[1:-1], repr(text)[1:-1]}
        written |= {html.escape(text), *(form for safe in _SAFE for form in _percent_encoded(data, safe))}
        encoded = {data.hex(), data.hex().upper(), *_base64(data)}
    yield from (_Form(form, inside=not _WORDS.fullmatch(form)) for form in written - encoded if form)
    yield from (_Form(form, inside=True) for form in encoded)


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


SHORTEST_SECRET = 8
"""Characters of a secret at least: texts are full of shorter ones by chance."""
TOO_SHORT = f"has fewer than {SHORTEST_SECRET} characters, so it cannot be told from a word"
_DATABASE = re.compile(r"postgres(?:ql)?://")
_USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#:@]*:([^/?#]*)@")
_ASKED = re.compile(r"[?&]password=([^&#]*)")
_PERCENT_ENCODED = re.compile(rb"%([0-9A-Fa-f]{2})")
_WEBHOOK_PREFIX = "whsec_"


def secrets_in(value: Any) -> Iterator[str]:
    """Yield the secrets of a setting, whatever it holds them in."""
    if isinstance(value, SecretStr):
        yield from _secret_parts(value.get_secret_value())
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from secrets_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_in(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from secrets_in(item)
    elif isinstance(value, str):
        yield from passwords_in(value)


def passwords_in(address: str) -> list[str]:
    """Return the passwords that an address holds, as they are and as it writes them: all else in it names a place."""
    found = _USERINFO.match(address)
    asked = _ASKED.findall(address) if _DATABASE.match(address) else []
    written = [text for text in (found[1] if found else "", *asked) if text]
    return [*dict.fromkeys(form for text in written for form in (_plain(text), _plain(text.replace("+", " ")), text))]


def _plain(text: str) -> str:
    """Return what a percent-encoded text stands for."""
    return _PERCENT_ENCODED.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode()).decode(errors="replace")


def _secret_parts(secret: str) -> list[str]:
    """Return what is secret in a secret: an address's passwords; of a webhook's secret also what follows its prefix."""
    if _DATABASE.match(secret):
        return passwords_in(secret)
    return [*dict.fromkeys(text for text in (secret, secret.removeprefix(_WEBHOOK_PREFIX)) if text)]
