"""Finds a guard in the source by the name of what holds it, and takes it away."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from tests.mutants.guard import Guard
from tools.layout import Source, python_sources

_Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class LostGuardError(Exception):
    """The code of a guard is not found, or found more than once; the message names the guard."""


@dataclass(frozen=True)
class Place:
    """Where a guard's code stands: in which source, from which character to which."""

    source: Source
    begin: int
    end: int


def sources(root: Path) -> list[Source]:
    """Return the Python sources in which guards stand: all but the tests."""
    return [source for source in python_sources(root) if not source.is_outside]


def find(among: list[Source], guard: Guard) -> Place:
    """Return the one place of a guard's code, or raise LostGuardError."""
    found = [place for source in among for place in _places(source, guard)]
    if len(found) != 1:
        raise LostGuardError(f"{guard.name}: its code is found {len(found)} times ({guard.rule}): {guard.code}")
    return found[0]


def take_away(root: Path, place: Place, guard: Guard) -> None:
    """Write the source into a tree without the guard."""
    text = place.source.text
    (root / place.source.path).write_text(text[: place.begin] + guard.without + text[place.end :], encoding="utf-8")


def _places(source: Source, guard: Guard) -> Iterator[Place]:
    if guard.name.rpartition(".")[2] not in source.text or guard.code not in source.text:
        return
    for begin, end in _named(source, guard.name):
        at = source.text.find(guard.code, begin, end)
        while at >= 0:
            yield Place(source, at, at + len(guard.code))
            at = source.text.find(guard.code, at + 1, end)


def _named(source: Source, name: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where each function, class, method or constant of that name goes."""
    starts = [0, *accumulate(map(len, source.text.splitlines(keepends=True)))]
    for node in _nodes(source.tree, name.split(".")):
        assert node.end_lineno is not None
        yield starts[node.lineno - 1], starts[node.end_lineno]


def _nodes(tree: ast.Module | _Named, path: list[str]) -> Iterator[_Named | ast.Assign]:
    for node in tree.body:
        if isinstance(node, _Named) and node.name == path[0]:
            if len(path) == 1:
                yield node
            else:
                yield from _nodes(node, path[1:])
        elif isinstance(node, ast.Assign) and [ast.unparse(one) for one in node.targets] == path:
            yield node
