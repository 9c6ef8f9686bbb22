"""The line of each member and item in a file of JSON."""

import re
from collections.abc import Iterator

from policy.bundle import strict_json

Path = tuple[str | int, ...]
"""The way to a member: names of members, and places in lists."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')

Tokens = Iterator[tuple[str, int]]


def lines_of(text: str) -> dict[Path, int]:
    """Return the line of each member's name, and of each item of a list, by its path; `text` is valid JSON."""
    numbered = enumerate(text.split("\n"), 1)  # a text in JSON holds no line break
    tokens = ((found[0], number) for number, line in numbered for found in _TOKEN.finditer(line))
    lines: dict[Path, int] = {}
    token, _ = next(tokens)
    _value(token, tokens, (), lines)
    return lines


def _value(token: str, tokens: Tokens, path: Path, lines: dict[Path, int]) -> None:
    if token == "{":  # noqa: S105 - of JSON
        _members(tokens, path, lines)
    elif token == "[":  # noqa: S105 - of JSON
        _items(tokens, path, lines)


def _members(tokens: Tokens, path: Path, lines: dict[Path, int]) -> None:
    for token, line in tokens:
        if token == "}":  # noqa: S105 - of JSON
            return
        if token != ",":  # noqa: S105 - of JSON
            inside = (*path, _text(token))
            lines[inside] = line
            next(tokens)  # the colon
            _value(next(tokens)[0], tokens, inside, lines)


def _items(tokens: Tokens, path: Path, lines: dict[Path, int]) -> None:
    place = 0
    for token, line in tokens:
        if token == "]":  # noqa: S105 - of JSON
            return
        if token != ",":  # noqa: S105 - of JSON
            lines[(*path, place)] = line
            _value(token, tokens, (*path, place), lines)
            place += 1


def _text(token: str) -> str:
    return str(strict_json(token))
