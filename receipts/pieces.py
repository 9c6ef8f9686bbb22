"""Checks a long value of canonical JSON in pieces of some ten thousand bytes, so that none of it is built as a whole.

Each piece ends before a comma and is made a document of its own: before it are opened the containers that are open
there (an object with the name that came last, so that the order of names is checked across pieces), after it they are
closed. `canonical.loads` decides about that document. Which containers are open is looked up in the piece's brackets;
were that wrong, the document would not be canonical.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from receipts import canonical
from receipts.canonical import CanonicalError

PIECE = 1 << 16
"""Bytes of a piece."""
_FIRST = 1 << 10
"""Bytes of a long value that are looked at first: it may be over there."""
_NEAR = 1024
"""Brackets before the end of a piece among which the open containers are looked for first."""

_DECODER = json.JSONDecoder()
TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_CONTINUING = range(0x80, 0xC0)
"""Bytes that continue a character."""
_STRUCTURE = b'"[]{}'
_ELSE = bytes(set(range(256)) - set(_STRUCTURE))
_CLOSING = {ord("["): b"]", ord("{"): b"}"}
OPENING = frozenset(_CLOSING)


class UnreadError(Exception):
    """This is not how canonical JSON goes on, or too unusual to be read here."""


def check_text(data: bytes, start: int, end: int) -> None:
    """Raise unless a text between quotation marks is canonical: each part of it is."""
    for _ in texts(data, start, end):
        pass


def texts(data: bytes, start: int, end: int) -> Iterator[str]:
    """Give a text between quotation marks in parts, or raise where one of them is not canonical."""
    at, last = start + 1, end - 1
    while last - at > PIECE:
        cut = at + PIECE
        while data[cut] in _CONTINUING and cut > at:
            cut -= 1
        escape = data[at:cut].replace(b"\\\\", b"__").rfind(b"\\", max(0, cut - at - 5))
        cut = at + escape if escape >= 0 else cut
        if cut <= at:
            raise UnreadError
        yield canonical.loads(b'"' + data[at:cut] + b'"')
        at = cut
    yield canonical.loads(b'"' + data[at:last] + b'"')


class LongValue:
    """A list or an object that is checked in pieces.

    `_at` is where the next piece starts, `_open` are the containers that are open there, from the outermost on, each as
    the text that opens it, and `_before` is text that stands before the piece, with long texts replaced by empty ones.
    """

    def __init__(self, data: bytes, start: int, depth: int) -> None:
        self._data, self._depth = data, depth
        self._at, self._open, self._before = start, list[bytes](), b""
        self._size = _FIRST

    def end(self) -> int:
        """Return where it ends, or raise."""
        while True:
            text = self._before + self._data[self._at : self._at + self._size]
            plain = without_escapes(text)
            cut = last_comma(plain) if self._size >= PIECE else -1
            has_cut = cut >= max(1, len(self._before))
            if has_cut and self._take(text[:cut], plain[:cut]):
                continue
            if (end := self._ending(text)) is not None:
                return end
            if has_cut:
                raise UnreadError
            self._shorten(text, plain)

    def _take(self, piece: bytes, plain: bytes) -> bool:
        """Check a piece that ends before a comma; return whether it is canonical where it stands."""
        if piece[-1] in OPENING:
            return False
        structure = _structure(plain)
        for looked_at in (_NEAR, None):
            closing = self._closing(structure, looked_at)
            if closing and (value := self._checked(piece, closing)) is not None:
                self._at += len(piece) + 1 - len(self._before)
                self._open, self._before, self._size = _open_in(value, len(closing)), b"", PIECE
                return True
        return False

    def _closing(self, structure: bytes, looked_at: int | None) -> list[bytes]:
        """Return what closes the containers that are open at a piece's end, the innermost first."""
        depth = len(self._open) + sum(map(structure.count, (b"[", b"{"))) - sum(map(structure.count, (b"]", b"}")))
        found, closed = list[bytes](), 0
        for bracket in islice(reversed(structure), looked_at):
            if bracket not in OPENING:
                closed += 1
            elif closed:
                closed -= 1
            else:
                found.append(_CLOSING[bracket])
                if len(found) == depth:
                    break
        around = [_CLOSING[opening[0]] for opening in self._open[: max(0, depth - len(found))]]
        return [*found, *reversed(around)]

    def _checked(self, piece: bytes, closing: list[bytes]) -> Any:
        """Return the value of a piece between the containers that are open around it, None unless it is canonical."""
        around = self._depth
        try:
            value = canonical.loads(b"".join((b"[" * around, self._head(), piece, *closing, b"]" * around)))
        except CanonicalError:
            return None
        for _ in range(around):
            if len(value) > 1:  # it was over within the piece
                return None
            value = value[0]
        return value

    def _head(self) -> bytes:
        """Return the text that opens what is open where a piece starts, with a value and a comma before it."""
        return b"".join((*self._open, b"0,")) if self._open else b""

    def _ending(self, text: bytes) -> int | None:
        """Return where the container ends, None if that is not in this text."""
        head = self._head()
        whole = (head + text).decode(errors="ignore")  # a character may be cut at its end
        try:
            _, end = _DECODER.raw_decode(whole)
        except ValueError:
            return None
        size = len(whole[:end].encode()) - len(head)
        if self._checked(text[:size], []) is None:
            raise UnreadError
        return self._at + size - len(self._before)

    def _shorten(self, text: bytes, plain: bytes) -> None:
        """Go on behind a long text in which the piece ends as if it were empty; for a name, make the piece longer."""
        quote = plain.rfind(b'"') if plain.count(b'"') % 2 else -1
        start = self._at + quote - len(self._before)
        found = TEXT.match(self._data, start) if quote >= len(self._before) else None
        if found is not None and self._data[found.end() : found.end() + 1] != b":":
            check_text(self._data, start, found.end())
            self._before, self._at, self._size = text[:quote] + b'""', found.end(), PIECE
        elif self._at + self._size < len(self._data):
            self._size = max(PIECE, self._size * 2)
        else:
            raise UnreadError


def without_escapes(text: bytes) -> bytes:
    """Return text of JSON whose quotation marks all begin or end a text."""
    return text.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in text else text


def last_comma(plain: bytes) -> int:
    """Return the place of the last comma outside of texts; -1 if there is none."""
    end = len(plain)
    if plain.count(b'"') % 2:
        end = plain.rfind(b'"')
    while True:
        comma, quote = plain.rfind(b",", 0, end), plain.rfind(b'"', 0, end)
        if comma >= quote:
            return comma
        end = plain.rfind(b'"', 0, quote)


def _structure(plain: bytes) -> bytes:
    """Return the brackets outside of texts."""
    found = plain.translate(None, _ELSE).replace(b'""', b"")
    return b"".join(found.split(b'"')[::2]) if b'"' in found else found


def _open_in(value: Any, depth: int) -> list[bytes]:
    """Return the containers that are open where a value was cut off, each as the text that opens it."""
    found = []
    for _ in range(depth):
        if isinstance(value, list):
            found.append(b"[")
            value = value[-1]
        else:
            name = next(reversed(value))
            found.append(b"{" + canonical.dumps(name) + b":")
            value = value[name]
    return found
