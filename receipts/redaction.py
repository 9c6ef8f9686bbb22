"""Hides values that must not be put on record. Always before a digest is taken, so that no digest can confirm a guess.

A value is hidden where a declared JSON pointer (RFC 6901; a token `*` stands for every item of a list) leads to it,
and where its member name looks like a secret's. A name is split into words at case changes and at everything but
letters and digits; it looks secret if a word ends in one of `_WORDS` (singular, or the plural where that too means
secrets), or if its words run together hold one of `_PHRASES`. So `dbPassword`, `X-Api-Key` and `accesstoken` are
hidden; `secretary` and `max_tokens` not. The address where tokens are asked for (`token_url`, `authorizationEndpoint`)
is no secret, unless it holds credentials or a query.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from receipts import canonical
from receipts.canonical import Apart
from receipts.errors import ReceiptsError

MARKER = "[redacted]"

_WORDS = (
    *("password", "passwords", "passwd", "passphrase", "pwd", "secret", "secrets", "token", "authorization"),
    *("cookie", "cookies", "credential", "credentials", "bearer", "jwt", "otp"),
)
_PHRASES = ("apikey", "privatekey", "accesskey", "signingkey", "encryptionkey", "sessionid")
SECRETISH = "|".join((*_WORDS, *_PHRASES))
"""A regular expression for a name's letters and digits, in lower case: each name of a secret fits, and few others."""

_ADDRESSES = {(what, where) for what in ("token", "authorization") for where in ("url", "uri", "endpoint")}
_BEARING = re.compile(r"[@?]")
"""What stands in an address before or after its credentials."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_BAD_ESCAPE = re.compile(r"~(?![01])")

Tokens = tuple[str, ...]

_SECRETS = [word.encode() for word in (*_WORDS, *_PHRASES, "url", "uri", "endpoint")]
_LOWER = bytes(range(256)).lower()
_NO_LETTERS = bytes(byte for byte in range(256) if not bytes([byte]).isalnum())
_NAMES = re.compile(rb'("(?:[^"\\]++|\\.)*+")(:?)')
"""Each text of a JSON document, and whether it is a name."""

_CONTAINERS = (dict, list, tuple)


class PointerError(ReceiptsError):
    """A declared pointer is not a JSON pointer."""


@dataclass(frozen=True)
class Redacted:
    """A copy with `MARKER` in place of what was hidden, and the sorted JSON pointers of those places."""

    value: Any
    paths: tuple[str, ...]


def redact(value: Any, pointers: Iterable[str] = ()) -> Redacted:
    """Hide what the pointers lead to and what is named like a secret. A pointer that leads nowhere hides nothing.

    A value that has no canonical form is refused here already, so that nothing is left to fail later.
    """
    canonical.check(value)
    return hide(value, pointers)


def opened(members: Mapping[str, Any], pointers: Collection[str]) -> dict[str, Any]:
    """Return an object with those of its members built that stand apart, and may have something to hide in them."""
    return {
        name: item.value() if isinstance(item, Apart) and _may_hide(name, item, pointers) else item
        for name, item in members.items()
    }


def _may_hide(name: str, item: Apart, pointers: Collection[str]) -> bool:
    if any(_looks(name)) or any(pointer.startswith(f"{canonical.pointer('', name)}/") for pointer in pointers):
        return True
    data = bytes(item.data)
    if data.isascii() and b"\\" not in data:
        letters = data.translate(_LOWER, _NO_LETTERS)
        if not any(word in letters for word in _SECRETS):
            return False
    names = {found[1] for found in _NAMES.finditer(data) if found[2]}
    return any(any(_looks(canonical.loads(one))) for one in names)


def hide(value: Any, pointers: Iterable[str] = ()) -> Redacted:
    """Redact a value that is on record already, or whose canonical form is made right after."""
    paths: list[str] = []
    hidden = _walk(value, "", [parse_pointer(text) for text in pointers], paths)
    return Redacted(hidden, tuple(sorted(paths)))


def hidden_values(value: Any, pointers: Iterable[str] = ()) -> list[Any]:
    """Return what `redact` hides, as it is."""
    return [value_at(value, parse_pointer(path)) for path in hide(value, pointers).paths]


def value_at(value: Any, tokens: Tokens) -> Any:
    """Return what a pointer without `*` leads to."""
    for token in tokens:
        value = value[int(token)] if isinstance(value, list | tuple) else value[token]
    return value


def parse_pointer(text: str) -> Tokens:
    """Return the tokens of a JSON pointer, or raise PointerError."""
    if (text and not text.startswith("/")) or _BAD_ESCAPE.search(text):
        raise PointerError(f"{text!r} is not a JSON pointer")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def is_secret_name(name: str) -> bool:
    """Return whether a member of this name holds a secret, by the rule above."""
    return _looks(name)[0]


def _is_secret(name: str, item: Any) -> bool:
    """Return whether a member is a secret: by its name, or as an address that bears credentials."""
    is_secret, is_address = _looks(name)
    return is_secret or (is_address and not (isinstance(item, str) and _BEARING.search(item) is None))


@lru_cache(maxsize=4096)
def _looks(name: str) -> tuple[bool, bool]:
    """Return whether a name is that of a secret, and whether it is that of an address where tokens are asked for."""
    words = [word.lower() for word in _WORD.findall(unicodedata.normalize("NFKC", name))]
    is_address = tuple(words[-2:]) in _ADDRESSES
    words = words[:-2] if is_address else words
    together = "".join(words)
    return any(word.endswith(_WORDS) for word in words) or any(phrase in together for phrase in _PHRASES), is_address


def _walk(value: Any, path: str, pointers: list[Tokens], paths: list[str]) -> Any:
    """Return `value` with the hidden parts replaced; `pointers` hold the tokens that are still to follow from here."""
    if () in pointers:
        paths.append(path)
        return MARKER
    if isinstance(value, dict):
        return {name: _member(name, item, path, pointers, paths) for name, item in value.items()}
    if isinstance(value, list | tuple):
        if not pointers and not any(isinstance(item, _CONTAINERS) for item in value):
            return list(value)
        return [_walk(item, f"{path}/{i}", _after(pointers, str(i), "*"), paths) for i, item in enumerate(value)]
    return value


def _member(name: str, item: Any, path: str, pointers: list[Tokens], paths: list[str]) -> Any:
    """Return a member's value as `_walk` does; most have no need of a path."""
    if _is_secret(name, item):
        paths.append(canonical.pointer(path, name))
        return MARKER
    if pointers or isinstance(item, _CONTAINERS):
        return _walk(item, canonical.pointer(path, name), _after(pointers, name), paths)
    return item


def _after(pointers: list[Tokens], *tokens: str) -> list[Tokens]:
    """Return the rests of the pointers whose next token is one of `tokens`."""
    return [rest for first, *others in pointers if first in tokens for rest in (tuple(others),)]
