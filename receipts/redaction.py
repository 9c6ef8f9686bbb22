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
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from receipts import canonical, piecewise
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
_LONGEST = max(map(len, _SECRETS))
_PIECE = 1 << 20
_NAMES = re.compile(rb'("(?:[^"\\]++|\\.)*+")(:?)')
"""Each text of a JSON document, and whether it is a name."""

_CONTAINERS = (dict, list, tuple, Apart)

_Tree: TypeAlias = "dict[str, _Tree]"
"""Pointers by their tokens."""
_ALL: _Tree = {}
"""Where a pointer ends: all that stands there is hidden."""


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


def hide(value: Any, pointers: Iterable[str] = ()) -> Redacted:
    """Redact a value that is on record already, or whose canonical form is made right after."""
    paths: list[str] = []
    hidden = _walk(value, "", _trees(pointers), paths)
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
    if text.startswith("/") and "~" not in text:
        return tuple(text[1:].split("/"))
    if (text and not text.startswith("/")) or _BAD_ESCAPE.search(text):
        raise PointerError(f"{text!r} is not a JSON pointer")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def is_secret_name(name: str) -> bool:
    """Return whether a member of this name holds a secret, by the rule above."""
    return _looks(name)[0]


def _is_secret(name: str, item: Any) -> bool:
    """Return whether a member is a secret: by its name, or as an address that bears credentials."""
    is_secret, is_address = _looks(name)
    if is_secret or not is_address:
        return is_secret
    address = canonical.built_text(item)
    return not (isinstance(address, str) and _BEARING.search(address) is None)


@lru_cache(maxsize=4096)
def _looks(name: str) -> tuple[bool, bool]:
    """Return whether a name is that of a secret, and whether it is that of an address where tokens are asked for."""
    words = [word.lower() for word in _WORD.findall(unicodedata.normalize("NFKC", name))]
    is_address = tuple(words[-2:]) in _ADDRESSES
    words = words[:-2] if is_address else words
    together = "".join(words)
    return any(word.endswith(_WORDS) for word in words) or any(phrase in together for phrase in _PHRASES), is_address


def _trees(pointers: Iterable[str]) -> list[_Tree]:
    """Return the pointers as a tree, in a list, if there is one; without those to what its name hides."""
    tree: _Tree = {}
    for tokens in map(parse_pointer, pointers):
        # an index is looked at no further: there may be as many as a list has items
        if tokens and not tokens[-1].isdecimal() and is_secret_name(tokens[-1]):
            continue
        if not tokens:
            return [_ALL]
        under = tree
        for token in tokens[:-1]:
            under = under.setdefault(token, {})
            if under is _ALL:
                break
        else:
            under[tokens[-1]] = _ALL
    return [tree] if tree else []


def _walk(value: Any, path: str, trees: list[_Tree], paths: list[str], before: int = 0) -> Any:
    """Return `value` with the hidden parts replaced; `trees` are what pointers lead to from here.

    Of a list these may be items that stand behind others (`before`).
    """
    if _is_end(trees):
        paths.append(path)
        return MARKER
    if isinstance(value, dict):
        return {name: _member(name, item, path, trees, paths) for name, item in value.items()}
    if isinstance(value, list | tuple):
        if not trees and not any(isinstance(item, _CONTAINERS) for item in value):
            return list(value)
        return [
            _walk(item, f"{path}/{i}", _after(trees, str(i), "*"), paths) for i, item in enumerate(value, start=before)
        ]
    if isinstance(value, Apart) and not value.is_text and (trees or _is_suspect(value.data)):
        return _Parts(value.source, path, trees, paths).hidden(value.start)
    return value


def _member(name: str, item: Any, path: str, trees: list[_Tree], paths: list[str]) -> Any:
    """Return a member's value as `_walk` does; most have no need of a path."""
    if _is_secret(name, item):
        paths.append(canonical.pointer(path, name))
        return MARKER
    if trees or isinstance(item, _CONTAINERS):
        return _walk(item, canonical.pointer(path, name), _after(trees, name), paths)
    return item


def _after(trees: list[_Tree], *tokens: str) -> list[_Tree]:
    """Return what the pointers lead to behind a token, which is one of these."""
    return [tree[token] for tree in trees for token in tokens if token in tree]


def _is_end(trees: list[_Tree]) -> bool:
    return any(tree is _ALL for tree in trees)


def _is_suspect(data: bytes | memoryview) -> bool:
    """Return whether canonical JSON has letters like those of a name of something to hide, or others than ASCII's."""
    letters = b""
    for start in range(0, len(data), _PIECE):
        piece = bytes(data[start : start + _PIECE])
        letters = letters[-_LONGEST:] + piece.translate(_LOWER, _NO_LETTERS)
        if not piece.isascii() or b"\\" in piece or any(word in letters for word in _SECRETS):
            return True
    return False


def _may_hide(data: bytes) -> bool:
    """Return whether a name in a piece of canonical JSON looks like that of something to hide."""
    return _is_suspect(data) and any(_may_be_secret(found[1]) for found in _NAMES.finditer(data) if found[2])


@lru_cache(maxsize=4096)
def _may_be_secret(name: bytes) -> bool:
    """Return whether a name, as JSON writes it, is that of a secret, or of an address that may bear one."""
    return any(_looks(canonical.loads(name)))


@dataclass
class _Level:
    """A container that is open: where it stands, what pointers lead to in it, and how many members are behind."""

    path: str
    trees: list[_Tree]
    named: bool
    count: int = 0


class _Parts:
    """Redacts a large value that stands apart: as many of its members at once as fit into a piece."""

    def __init__(self, data: bytes, path: str, trees: list[_Tree], paths: list[str]) -> None:
        self._data, self._paths = data, paths
        self._written, self._open = list[bytes](), list[_Level]()
        self._path, self._trees = path, trees

    def hidden(self, start: int) -> Apart:
        """Return the value that starts there without what is to be hidden; it stands apart, too."""
        at = self._enter(start, self._path, self._trees)
        while self._open:
            byte = self._data[at : at + 1]
            if byte in b"]}":
                self._open.pop()
            if byte in b"]},":
                self._written.append(byte)
                at += 1
            else:
                at = self._members(at, self._open[-1])
        whole = b"".join(self._written)
        return Apart(whole, 0, len(whole))

    def _enter(self, at: int, path: str, trees: list[_Tree]) -> int:
        byte = self._data[at : at + 1]
        self._written.append(byte)
        self._open.append(_Level(path, trees, byte == b"{"))
        return at + 1

    def _members(self, at: int, level: _Level) -> int:
        """Write the next members; return where they end."""
        found, end = piecewise.members_at(self._data, at, named=level.named)
        if not found:
            return self._large(at, level)
        as_it_is = self._data[at:end]
        if level.trees or _may_hide(as_it_is):
            as_it_is = canonical.dumps(_walk(found, level.path, level.trees, self._paths, level.count))[1:-1]
        self._written.append(as_it_is)
        level.count += len(found)
        return end

    def _large(self, at: int, level: _Level) -> int:
        """Write a member that is larger than a piece, or begin with it; return where to go on."""
        token = str(level.count)
        if level.named:
            name_end = piecewise.end_of(self._data, at)
            token = canonical.loads(self._data[at:name_end])
            self._written.append(self._data[at : name_end + 1])
            at = name_end + 1
        level.count += 1
        path, trees = canonical.pointer(level.path, token), _after(level.trees, token, *([] if level.named else "*"))
        is_container = self._data[at] in b"[{"
        end = 0 if is_container else piecewise.end_of(self._data, at)
        item: Any = {} if is_container else Apart(self._data, at, end)
        if _is_end(trees) or (level.named and _is_secret(token, item)):
            self._paths.append(path)
            self._written.append(canonical.dumps(MARKER))
            return end or piecewise.end_of(self._data, at)
        if is_container:
            return self._enter(at, path, trees)
        self._written.append(self._data[at:end])
        return end
