"""Canonical JSON (RFC 8785) and its SHA-256: the one form in which anything is hashed, signed or compared.

Almost every value is written by `orjson` with sorted names. It gives the same bytes where there is no whole number
written as a fraction, no large exponent and no name with a character beyond the Basic Multilingual Plane; millionths
are rewritten (1e-6 as 0.000001). `rfc8785` writes the rest, and our own check names what is wrong.

A value may hold parts that are not built (`Apart`): they are canonical bytes already, and are written as they are.
"""

import hashlib
import json
import math
import re
from contextlib import suppress
from itertools import chain
from typing import Any

import orjson
import rfc8785

from receipts.errors import ReceiptsError

MAX_DEPTH = 100
_CONTAINERS = (dict, list, tuple)
_DEEPEST = 254
"""Containers in each other that `orjson` writes."""
_LARGEST_INTEGER = 2**53 - 1
_TOO_LARGE = "whole number beyond 2**53 - 1; write it as text"

_COMPILED = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_DIGITS, _ALIKE = b"-0123456789", bytes.maketrans(b"[e", b",.")
_OTHERWISE = re.compile(rb"[0-9](?:\.0|e(?:-[0-6]|\+?[0-9]{1,3}))(?:[,\]}]|\Z)")
"""What may be the end of a number that the standard writes otherwise: 1.0 as 1, and 1e-6 as 0.000001."""
_MILLIONTHS = re.compile(rb"(?<![0-9.])([0-9])\.?([0-9]*+)e-6(?![0-9])")
"""A number from 0.000001 on and below 0.00001 as `orjson` writes it: its first digit, and the others."""
_HOLE = b'"\2"'
"""What no other value is written as: a text with a control character."""
_NOT_ASTRAL = bytes(set(range(256)) - set(range(0xF0, 0xF5)))
_ASTRAL_NAME = re.compile(rb'[\xf0-\xf4][^"\\\xf0-\xf4]*+(?:\\.[^"\\\xf0-\xf4]*+)*+":')
"""From a name's last character beyond the Basic Multilingual Plane on: UTF-16 orders such names otherwise."""


class CanonicalError(ReceiptsError):
    """A value has no canonical form, or bytes are not in it; the message names the JSON path and the reason."""


class Apart:
    """A JSON value that is not built: canonical bytes within those of a document. It equals the value that they give.

    Not a data class, and nothing that can be iterated: records keep it as it is.
    """

    __slots__ = ("_source", "_span")
    __hash__ = None  # type: ignore[assignment]  # like the lists and objects that it stands for

    def __init__(self, source: bytes, start: int, end: int) -> None:
        self._source = source
        self._span = slice(start, end)

    @property
    def source(self) -> bytes:
        """Return the document in which it stands."""
        return self._source

    @property
    def start(self) -> int:
        """Return where it starts in its document."""
        return self._span.start

    @property
    def data(self) -> memoryview:
        """Return the bytes, without a copy."""
        return memoryview(self._source)[self._span]

    @property
    def is_text(self) -> bool:
        """Return whether it is a text; else it is an object or a list."""
        return self._source[self._span.start] == ord('"')

    def value(self) -> Any:
        """Build the value."""
        return orjson.loads(self.data)

    def __eq__(self, other: object) -> bool:
        """Return whether the other is, or gives, the same bytes."""
        if isinstance(other, Apart):
            return self.data == other.data
        with suppress(CanonicalError):
            return dumps(other) == self.data
        return False

    def __repr__(self) -> str:
        """Show the value, for a sentence that tells of it."""
        return repr(self.value())


def built(value: Any) -> Any:
    """Return a value itself where it stands apart; what is inside of it is left as it is."""
    return value.value() if isinstance(value, Apart) else value


def built_text(value: Any) -> Any:
    """Return a text itself where it stands apart, and anything else as it is."""
    return value.value() if isinstance(value, Apart) and value.is_text else value


def dumps(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value; `loads` gives back a value with the same bytes."""
    data = _compiled(value)
    if data is None:
        data = _joined(value)
    if data is not None:
        return data
    _check(value, "", 0)
    return rfc8785.dumps(value)


def dumps_again(value: Any) -> bytes:
    """Return the canonical bytes of a value that was read of such bytes: no closer look is taken at it."""
    try:
        standard = _standard(orjson.dumps(value, option=_COMPILED))
    except TypeError:  # of parts that stand apart
        standard = None
    return dumps(value) if standard is None else standard


def digest(value: Any) -> str:
    """Return the SHA-256, in lowercase hex, of the canonical bytes."""
    return digest_of(dumps(value))


def digest_of(data: bytes) -> str:
    """Return the SHA-256, in lowercase hex, of bytes that are canonical already."""
    return hashlib.sha256(data).hexdigest()


def loads(data: bytes) -> Any:
    """Parse bytes that must be exactly canonical: no spaces, no repeated members, no other spelling of a number."""
    try:
        value = orjson.loads(data)
        is_canonical = _standard(_written(value, data)) == data
    except (TypeError, ValueError, RecursionError):
        is_canonical = False
    return value if is_canonical else _slowly_read(data)  # which says what is wrong


def _written(value: Any, data: bytes) -> bytes:
    """Return how `orjson` writes a value that was read of these bytes; raise TypeError where it may be too deep.

    It writes no more than 254 containers in each other, so with others around, it counts what is in these.
    """
    if not _has_many(data):
        return orjson.dumps(value, option=_COMPILED)
    around = _DEEPEST - MAX_DEPTH
    for _ in range(around):
        value = [value]
    return orjson.dumps(value, option=_COMPILED)[around:-around]


def _has_many(data: bytes) -> bool:
    """Return whether JSON has more containers than may stand in each other; in texts, brackets count as well."""
    return data.count(b"[") + data.count(b"{") > MAX_DEPTH


def _slowly_read(data: bytes) -> Any:
    """Parse what `orjson` alone does not decide, or raise CanonicalError."""
    try:
        value = json.loads(data)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CanonicalError(f"not JSON: {error}") from error
    except ValueError as error:  # Python reads no whole number of so many digits
        raise CanonicalError(f"a {_TOO_LARGE}") from error
    if dumps(value) != data:
        raise CanonicalError("JSON, but not in canonical form (RFC 8785)")
    return value


def pointer(path: str, token: str) -> str:
    """Return the JSON pointer (RFC 6901) of the member `token` of what stands at `path`."""
    return f"{path}/{token.replace('~', '~0').replace('/', '~1')}"


def check(value: Any) -> None:
    """Raise CanonicalError unless the value has a canonical form."""
    if _compiled(value) is None and _joined(value) is None:
        _check(value, "", 0)


def _joined(value: Any) -> bytes | None:
    """Return the canonical bytes of a value of which parts stand apart; None for any other."""
    found: list[Apart] = []

    def hollow(item: Any) -> orjson.Fragment:
        if not isinstance(item, Apart):
            raise TypeError
        found.append(item)
        return orjson.Fragment(_HOLE)

    try:
        data = orjson.dumps(value, default=hollow, option=_COMPILED)
    except (TypeError, RecursionError):
        return None
    if not found:
        return None
    standard = _standard(data)
    around = (data if standard is None else standard).split(_HOLE)
    within: list[bytes | memoryview] = [*(apart.data for apart in found), b""]
    whole = b"".join(chain.from_iterable(zip(around, within, strict=True)))
    return dumps(orjson.loads(whole)) if standard is None else whole


def _compiled(value: Any) -> bytes | None:
    """Return the canonical bytes; None where that takes a closer look, or where there may be none.

    What is read back tells what `orjson` writes though JSON has no such value: dates, enumerations, NaN.
    """
    try:
        data = orjson.dumps(value, option=_COMPILED)
    except (TypeError, RecursionError):  # of which orjson's own error is one
        return None
    standard = _standard(data)
    if standard is None or orjson.loads(data) != value:
        return None
    return None if _has_many(data) and _is_too_deep(value) else standard


def _standard(data: bytes) -> bytes | None:
    """Return what the standard writes where `orjson` wrote this; None where that takes a closer look."""
    if not data.isascii() and data.translate(None, _NOT_ASTRAL) and _ASTRAL_NAME.search(data) is not None:
        return None
    rest = data.translate(_ALIKE, _DIGITS)  # of a number with a fraction or an exponent, this leaves a point
    if not (b",." in rest or b'":.' in rest or rest.startswith(b".")) or _OTHERWISE.search(data) is None:
        return data
    return _outside_texts(data)


def _outside_texts(data: bytes) -> bytes | None:
    """Return JSON with its millionths rewritten; None where other numbers are written otherwise, too.

    It is split at the quotation marks: those inside of texts, and backslashes before them, are control characters
    meanwhile, which stand in no JSON that `orjson` writes.
    """
    is_escaped = b"\\" in data
    plain = data.replace(b"\\\\", b"\0\0").replace(b'\\"', b"\1\1") if is_escaped else data
    parts = plain.split(b'"')
    outside = _rewritten(b'"'.join(parts[::2]))
    if _OTHERWISE.search(outside) is not None:
        return None
    parts[::2] = outside.split(b'"')
    found = b'"'.join(parts)
    return found.replace(b"\1\1", b'\\"').replace(b"\0\0", b"\\\\") if is_escaped else found


def _rewritten(numbers: bytes) -> bytes:
    """Return JSON without texts with its millionths as the standard writes them: `1.5e-6` as `0.0000015`."""
    parts = _MILLIONTHS.split(numbers)
    parts[1::3] = [b"0.00000" + digit for digit in parts[1::3]]
    return b"".join(parts)


def _is_too_deep(value: Any) -> bool:
    """Return whether more than MAX_DEPTH containers stand in each other, looking at one level after another."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, _CONTAINERS)
        ]
        if not level:
            return False
    return True


def _check(value: Any, path: str, depth: int) -> None:
    """Raise at the first part of `value` that has no canonical form."""
    if depth > MAX_DEPTH:
        raise CanonicalError(f"{path}: nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise CanonicalError(f"{path or '(root)'}: member name {key!r} is not text")
            _check_text(key, path)
            _check(item, pointer(path, key), depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check(item, f"{path}/{index}", depth + 1)
    elif value is not None and not isinstance(value, bool):
        _check_number(value, path)


def _check_text(text: str, path: str) -> None:
    """Raise if `text` holds half of a surrogate pair, which UTF-8 cannot carry."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CanonicalError(f"{path or '(root)'}: text holds a lone surrogate at position {error.start}") from error


def _check_number(value: Any, path: str) -> None:
    """Raise unless `value` is a number that every JSON reader takes for the same one."""
    if not isinstance(value, int | float):
        raise CanonicalError(f"{path or '(root)'}: {type(value).__name__} is not a JSON type")
    if isinstance(value, float) and not math.isfinite(value):
        raise CanonicalError(f"{path or '(root)'}: {value} is not a JSON number")
    # A float such as 1e20 is written like an integer and would be read back as one: the same limit holds for both.
    if abs(value) > _LARGEST_INTEGER and value == int(value):
        raise CanonicalError(f"{path or '(root)'}: {_TOO_LARGE}")
