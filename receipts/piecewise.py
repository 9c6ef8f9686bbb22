"""Reads canonical JSON of any size in little memory: all of it is checked, and only what an outline names is built.

A long value is checked in pieces of some ten thousand bytes. Each piece ends before a comma and is made a document of
its own: before it are opened the containers that are open there (an object with the name that came last, so that the
order of names is checked across pieces), after it they are closed. `canonical.loads` decides about that document. Which
containers are open is looked up in the piece's brackets; were that wrong, the document would not be canonical.

What does not fit is left to `canonical.loads` of the whole, which says what is wrong.
"""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from itertools import islice
from json.scanner import make_scanner
from typing import Any, TypeAlias

import orjson

from receipts import canonical
from receipts.canonical import Apart, CanonicalError, said


class Part(Enum):
    """How a value is read: built as a whole, or kept as bytes if it is large. Of what is unnamed, texts are built."""

    BUILT = "built"
    UNNAMED = "unnamed"
    APART = "apart"


Outline: TypeAlias = "Mapping[str, Outline] | Part"
"""How the members of an object, or the items of a list, are read; `*` stands for those that are not named."""

LARGE = 256
"""Bytes of a container that stands apart, at least."""
LONG = 4096
"""Bytes of a text that stands apart, at least."""
AT_ONCE = 1 << 16
"""Bytes of a document that is read at once."""
_PIECE = 1 << 16
"""Bytes of a piece of a larger one."""
_FIRST = 1 << 10
"""Bytes of a long value that are looked at first: it may be over there."""
_NEAR = 1024
"""Brackets before the end of a piece among which the open containers are looked for first."""

_DECODER = json.JSONDecoder()
_scan = make_scanner(_DECODER)  # type: ignore[arg-type]  # typeshed takes the function for a class
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_NAME = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"):')
_PLAIN = re.compile(rb"[-+.0-9A-Za-z]++")
_CONTINUING = range(0x80, 0xC0)
"""Bytes that continue a character."""
_STRUCTURE = b'"[]{}'
_ELSE = bytes(set(range(256)) - set(_STRUCTURE))
_CLOSING = {ord("["): b"]", ord("{"): b"}"}
_OPENING = frozenset(_CLOSING)


class _UnreadError(Exception):
    """This is not how canonical JSON goes on, or too unusual to be read here."""


def loads(data: bytes, outline: Outline = Part.BUILT) -> Any:
    """Return the value of bytes that must be exactly canonical, as `canonical.loads` does, with parts of it apart."""
    if len(data) > AT_ONCE:
        with suppress(CanonicalError):  # the slower reading says what is wrong
            return read(data, outline)
    return set_apart(canonical.loads(data), data, outline)


def read(data: bytes, outline: Outline) -> Any:
    """Return the value of large canonical bytes as `loads` does, or raise without saying what is wrong."""
    try:
        return _Reader(data).read(outline)
    except (_UnreadError, ValueError, TypeError, RecursionError) as error:
        raise CanonicalError("not read as canonical JSON (RFC 8785)") from error


def set_apart(value: Any, data: bytes, outline: Outline) -> Any:
    """Return a value with its large parts apart, in the document that it was read of."""
    if isinstance(outline, Part):
        return value if outline is Part.BUILT else _set_apart(value, data, outline)
    if isinstance(value, dict):
        return {name: set_apart(item, data, _under(outline, name)) for name, item in value.items()}
    return [set_apart(item, data, _under(outline, "*")) for item in value] if isinstance(value, list) else value


def _set_apart(value: Any, data: bytes, outline: Part) -> Any:
    """Return a value as bytes if it may be apart and is large."""
    if not isinstance(value, (dict, list) if outline is Part.UNNAMED else (dict, list, str)):
        return value
    if isinstance(value, str) and len(value) < LONG:
        return value
    whole = canonical.dumps(value)
    start = data.find(whole)
    return Apart(data, start, start + len(whole)) if _is_apart(data, start, len(whole), outline) else value


def _part(outline: Outline) -> Part:
    """Return how something that cannot have the members of an outline is read."""
    return outline if isinstance(outline, Part) else Part.BUILT


def _is_apart(data: bytes, start: int, size: int, outline: Outline) -> bool:
    """Return whether a value of so many bytes at a place is kept as bytes."""
    if data[start] == ord('"'):
        return outline is Part.APART and size >= LONG
    return data[start] in _OPENING and size >= LARGE and _part(outline) is not Part.BUILT


def _under(outline: Mapping[str, Outline], name: str) -> Outline:
    return outline.get(name) or outline.get("*") or Part.UNNAMED


def written(value: Apart) -> Iterator[str]:
    """Give what stands apart in parts: of a text its characters, of anything else those of its canonical form."""
    if value.is_text:
        yield from _texts(bytes(value.data), 0, len(value.data))
        return
    decoder = getincrementaldecoder("utf-8")()
    for start in range(0, len(value.data), _PIECE):
        yield decoder.decode(value.data[start : start + _PIECE])


def members_at(data: bytes, at: int, *, named: bool) -> tuple[Any, int]:
    """Return the members of a container from a place on, as a list or an object, and where they end.

    They are built, and are no more than fit into a piece: none where the first one is larger. The data is canonical.
    """
    text = data[at : at + _PIECE].decode(errors="ignore")  # a character may be cut at its end
    names, items, end = list[str](), list[Any](), 0
    with suppress(ValueError, StopIteration):  # the last one is cut
        while True:
            name, start = _scan(text, end) if named else ("", end - 1)
            item, after = _scan(text, start + 1)
            if text[after : after + 1] not in (",", "]", "}"):  # a number may be cut before its point
                break
            names.append(name)
            items.append(item)
            end = after + 1
            if text[after] != ",":
                break
    found = dict(zip(names, items, strict=True)) if named else items
    return found, at + len(text[: max(0, end - 1)].encode())


def member(value: Any, name: str) -> Any:
    """Return a member of an object, each of which may stand apart, but a text is built; None where there is none."""
    if not isinstance(value, Apart):
        return said(value.get(name)) if isinstance(value, dict) else None
    data, at = value.source, value.start
    if data[at] != ord("{") or data[at + 1] == ord("}"):
        return None
    while data[at] != ord("}"):
        found, end = members_at(data, at + 1, named=True)
        if not found:  # the next one is larger than a piece
            after = end_of(data, at + 1)
            end = end_of(data, after + 1)
            found = {canonical.loads(data[at + 1 : after]): Apart(data, after + 1, end)}
        if name in found:
            return said(found[name])
        at = end
    return None


def items_of(value: Apart) -> Iterator[list[Any]]:
    """Give the items of a list that stands apart, some at a time; a larger list or object stands apart, too."""
    data, at, last = value.source, value.start + 1, value.start + len(value.data) - 1
    while at < last:
        found, end = _items_at(data, at, last)
        if not found:
            end = end_of(data, at)
            large = Apart(data, at, end)
            found = [large.value() if large.is_text else large]
        yield found
        at = end + 1


def _items_at(data: bytes, at: int, last: int) -> tuple[list[Any], int]:
    """Return the next items of a list that ends at `last`, as many as fit into a piece, and where they end."""
    end = min(last, at + _PIECE)
    if end < last:
        end = at + max(0, _cut(_plain(data[at:end])))
    with suppress(ValueError):  # it was cut within an item
        return orjson.loads(b"[%b]" % data[at:end]), end
    return members_at(data, at, named=False)


def end_of(data: bytes, start: int) -> int:
    """Return where a value ends that starts at a place of canonical data."""
    return _Reader(data).skip(start, 0)


class _Reader:
    """Reads one document, which has containers that are open (`depth`) around what is read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, outline: Outline) -> Any:
        value, end = self._value(0, outline, 0)
        if end != len(self._data):
            raise _UnreadError
        return value

    def _value(self, start: int, outline: Outline, depth: int) -> tuple[Any, int]:
        """Return the value that starts there, and where it ends."""
        first = self._data[start : start + 1]
        if isinstance(outline, Mapping) and first in (b"[", b"{"):
            return self._object(start, outline, depth) if first == b"{" else self._list(start, outline, depth)
        end = self.skip(start, depth)
        if _is_apart(self._data, start, end - start, outline):
            return Apart(self._data, start, end), end
        return orjson.loads(memoryview(self._data)[start:end]), end

    def _object(self, start: int, outline: Mapping[str, Outline], depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        last, at = b"", start + 1
        while self._data[at : at + 1] != b"}":
            named = _NAME.match(self._data, at)
            if named is None:
                raise _UnreadError
            name = canonical.loads(named[1])
            place = name.encode("utf-16-be")
            if found and place <= last:
                raise _UnreadError
            last = place
            found[name], at = self._value(named.end(), _under(outline, name), depth + 1)
            at = self._after(at, b"}")
        return found, at + 1

    def _list(self, start: int, outline: Mapping[str, Outline], depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = start + 1
        while self._data[at : at + 1] != b"]":
            item, at = self._value(at, _under(outline, "*"), depth + 1)
            found.append(item)
            at = self._after(at, b"]")
        return found, at + 1

    def _after(self, at: int, closing: bytes) -> int:
        """Return where the next member starts, or the container ends."""
        byte = self._data[at : at + 1]
        if byte == closing:
            return at
        if byte != b"," or self._data[at + 1 : at + 2] == closing:
            raise _UnreadError
        return at + 1

    def skip(self, start: int, depth: int) -> int:
        """Return where a canonical value ends."""
        first = self._data[start : start + 1]
        if first in (b"[", b"{"):
            return _Long(self._data, start, depth).end()
        found = (_TEXT if first == b'"' else _PLAIN).match(self._data, start)
        if found is None:
            raise _UnreadError
        if first == b'"':
            _check_text(self._data, start, found.end())
        else:
            canonical.loads(found[0])
        return found.end()


def _check_text(data: bytes, start: int, end: int) -> None:
    """Raise unless a text between quotation marks is canonical: each part of it is."""
    for _ in _texts(data, start, end):
        pass


def _texts(data: bytes, start: int, end: int) -> Iterator[str]:
    """Give a text between quotation marks in parts, or raise where one of them is not canonical."""
    at, last = start + 1, end - 1
    while last - at > _PIECE:
        cut = at + _PIECE
        while data[cut] in _CONTINUING and cut > at:
            cut -= 1
        escape = data[at:cut].replace(b"\\\\", b"__").rfind(b"\\", max(0, cut - at - 5))
        cut = at + escape if escape >= 0 else cut
        if cut <= at:
            raise _UnreadError
        yield canonical.loads(b'"' + data[at:cut] + b'"')
        at = cut
    yield canonical.loads(b'"' + data[at:last] + b'"')


class _Long:
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
            plain = _plain(text)
            cut = _cut(plain) if self._size >= _PIECE else -1
            has_cut = cut >= max(1, len(self._before))
            if has_cut and self._take(text[:cut], plain[:cut]):
                continue
            if (end := self._ending(text)) is not None:
                return end
            if has_cut:
                raise _UnreadError
            self._shorten(text, plain)

    def _take(self, piece: bytes, plain: bytes) -> bool:
        """Check a piece that ends before a comma; return whether it is canonical where it stands."""
        if piece[-1] in _OPENING:
            return False
        structure = _structure(plain)
        for looked_at in (_NEAR, None):
            closing = self._closing(structure, looked_at)
            if closing and (value := self._checked(piece, closing)) is not None:
                self._at += len(piece) + 1 - len(self._before)
                self._open, self._before, self._size = _open_in(value, len(closing)), b"", _PIECE
                return True
        return False

    def _closing(self, structure: bytes, looked_at: int | None) -> list[bytes]:
        """Return what closes the containers that are open at a piece's end, the innermost first."""
        depth = len(self._open) + sum(map(structure.count, (b"[", b"{"))) - sum(map(structure.count, (b"]", b"}")))
        found, closed = list[bytes](), 0
        for bracket in islice(reversed(structure), looked_at):
            if bracket not in _OPENING:
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
            raise _UnreadError
        return self._at + size - len(self._before)

    def _shorten(self, text: bytes, plain: bytes) -> None:
        """Go on behind a long text in which the piece ends as if it were empty; for a name, make the piece longer."""
        quote = plain.rfind(b'"') if plain.count(b'"') % 2 else -1
        start = self._at + quote - len(self._before)
        found = _TEXT.match(self._data, start) if quote >= len(self._before) else None
        if found is not None and self._data[found.end() : found.end() + 1] != b":":
            _check_text(self._data, start, found.end())
            self._before, self._at, self._size = text[:quote] + b'""', found.end(), _PIECE
        elif self._at + self._size < len(self._data):
            self._size = max(_PIECE, self._size * 2)
        else:
            raise _UnreadError


def _plain(text: bytes) -> bytes:
    """Return text of JSON whose quotation marks all begin or end a text."""
    return text.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in text else text


def _cut(plain: bytes) -> int:
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
