"""Loops that can be evaluated part by part: `map` and `filter` over a list of the context, and chains of them.

What the library gathers it copies for each item, so its time grows as the square of a list; that of parts does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cel

from runtime.definitions.cel.syntax import Literal, Loop, Name, Select, Tree, parse
from runtime.definitions.cel.tokens import Reference, read

PART = "part_of_the_list"
"""The variable that holds a part."""
MISSING: Any = object()
"""What `value_at` finds where there is nothing."""
_GATHER = ("map", "filter")


@dataclass(frozen=True)
class Parts:
    """A loop `over` a list, as an expression about one part of it; `references` are what else it reads."""

    over: Reference
    tree: Tree
    references: tuple[Reference, ...]
    program: cel.Program


def parts_of(source: str, tree: Tree) -> Parts | None:
    """Return how the expression is evaluated part by part, None where it has to be in one go."""
    loop = tree
    while isinstance(loop, Loop) and loop.kind in _GATHER and isinstance(loop.of, Loop):
        loop = loop.of
    if not isinstance(loop, Loop) or loop.kind not in _GATHER or PART in source:
        return None
    over = reference_of(loop.of)
    if over is None:
        return None
    of_part = PART + source[loop.dot :]
    references = tuple(one for one in read(of_part).references if one.root != PART)
    return Parts(over, parse(of_part), references, cel.compile(of_part))


def value_at(reference: Reference, context: Mapping[str, Any]) -> Any:
    """Return the value that a reference names, MISSING where there is none."""
    value: Any = context
    for part in (reference.root, *reference.path):
        named = isinstance(part, str) and isinstance(value, Mapping) and part in value
        if not named and not (isinstance(part, int) and isinstance(value, list) and part < len(value)):
            return MISSING
        value = value[part]
    return value


def reference_of(tree: Tree) -> Reference | None:
    """Return the path that a tree is, None where it is anything else."""
    if isinstance(tree, Name):
        return Reference(tree.name, ())
    if not isinstance(tree, Select) or not isinstance(tree.at, Literal):
        return None
    of, at = reference_of(tree.of), tree.at.value
    return None if of is None or isinstance(at, bool) or at is None else Reference(of.root, (*of.path, at))
