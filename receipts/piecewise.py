"""Reads canonical JSON of any size in little memory: all of it is checked, and only what an outline names is built.

A long value is checked in pieces (`receipts.pieces`). What does not fit is left to `canonical.loads` of the whole,
which says what is wrong.
"""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from json.scanner import make_scanner
from typing import Any, TypeAlias

import orjson

from receipts import canonical, pieces
from receipts.canonical import Apart, CanonicalError, built_text
from receipts.pieces import OPENING, TEXT, LongValue, UnreadError, check_text, last_comma, texts, without_escapes


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

_CONTAINERS = (dict, list)
_scan = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]  # typeshed takes the function for a class
_NAME = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"):')
_PLAIN = re.compile(rb"[-+.0-9A-Za-z]++")


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
    except (UnreadError, ValueError, TypeError, RecursionError) as error:
        raise CanonicalError("not read as canonical JSON (RFC 8785)") from error


def set_apart(value: Any, data: bytes, outline: Outline) -> Any:
    """Return a value, which changes, with its large parts apart, in the document that it was read of."""
    if isinstance(outline, Part):
        return value if outline is Part.BUILT else _set_apart(value, data, outline)
    items: Iterable[tuple[Any, Any]] = ()
    if value.__class__ is dict:
        items = value.items()
    elif value.__class__ is list:
        items = enumerate(value)
    for name, item in items:
        if item and (item.__class__ in _CONTAINERS or (item.__class__ is str and len(item) >= LONG)):
            value[name] = set_apart(item, data, _under(outline, name))
    return value


def _set_apart(value: Any, data: bytes, outline: Part) -> Any:
    """Return a value as bytes if it may be apart and is large."""
    if value.__class__ not in _CONTAINERS and not (value.__class__ is str and outline is Part.APART):
        return value
    if value.__class__ is str and len(value) < LONG:
        return value
    whole = canonical.dumps_again(value)
    start = data.find(whole)
    return Apart(data, start, start + len(whole)) if _is_apart(data, start, len(whole), outline) else value


def _part(outline: Outline) -> Part:
    """Return how something that cannot have the members of an outline is read."""
    return outline if isinstance(outline, Part) else Part.BUILT


def _is_apart(data: bytes, start: int, size: int, outline: Outline) -> bool:
    """Return whether a value of so many bytes at a place is kept as bytes."""
    if data[start] == ord('"'):
        return outline is Part.APART and size >= LONG
    return data[start] in OPENING and size >= LARGE and _part(outline) is not Part.BUILT


def _under(outline: Mapping[str, Outline], name: Any) -> Outline:
    return outline.get(name) or outline.get("*") or Part.UNNAMED


def written(value: Apart) -> Iterator[str]:
    """Give what stands apart in parts: of a text its characters, of anything else those of its canonical form."""
    if value.is_text:
        yield from texts(bytes(value.data), 0, len(value.data))
        return
    decoder = getincrementaldecoder("utf-8")()
    for start in range(0, len(value.data), pieces.PIECE):
        yield decoder.decode(value.data[start : start + pieces.PIECE])


def members_at(data: bytes, at: int, *, named: bool) -> tuple[Any, int]:
    """Return the members of a container from a place on, as a list or an object, and where they end.

    They are built, and are no more than fit into a piece: none where the first one is larger. The data is canonical.
    """
    text = data[at : at + pieces.PIECE].decode(errors="ignore")  # a character may be cut at its end
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
    if isinstance(value, dict):
        return built_text(value.get(name))
    if not isinstance(value, Apart):
        return None
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
            return built_text(found[name])
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
    end = min(last, at + pieces.PIECE)
    if end < last:
        end = at + max(0, last_comma(without_escapes(data[at:end])))
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
            raise UnreadError
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
                raise UnreadError
            name = canonical.loads(named[1])
            place = name.encode("utf-16-be")
            if found and place <= last:
                raise UnreadError
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
            raise UnreadError
        return at + 1

    def skip(self, start: int, depth: int) -> int:
        """Return where a canonical value ends."""
        first = self._data[start : start + 1]
        if first in (b"[", b"{"):
            return LongValue(self._data, start, depth).end()
        found = (TEXT if first == b'"' else _PLAIN).match(self._data, start)
        if found is None:
            raise UnreadError
        if first == b'"':
            check_text(self._data, start, found.end())
        else:
            canonical.loads(found[0])
        return found.end()
