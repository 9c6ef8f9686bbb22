"""Paths of steps: `docs[2].request` is the step `request` in the third iteration of the node `docs`.

A path without its indexes is the address of a node in the definition. A step's block is named by the path up to its
last dot: the step that holds the block, or an iteration of it.
"""

import re

_INDEX = re.compile(r"\[(\d+)\]")


def address_of(path: str) -> str:
    """Return the address of the node of which `path` is a step."""
    return _INDEX.sub("", path) if "[" in path else path


def block_of(path: str) -> str:
    """Return the path of what holds the block in which the step stands; "" at the top."""
    return path.rpartition(".")[0]


def id_of(path: str) -> str:
    """Return the last part of a path or an address."""
    return path.rpartition(".")[2]


def inside(block: str, name: str) -> str:
    """Return the path of the step `name` in a block."""
    return f"{block}.{name}" if block else name


def iteration(path: str, index: int) -> str:
    """Return the path of an iteration of the step at `path`."""
    return f"{path}[{index}]"


def iterated(path: str) -> tuple[str, int] | None:
    """Return what is repeated and the number of the iteration, where `path` is that of an iteration."""
    if not path.endswith("]"):
        return None
    holder, _, index = path[:-1].rpartition("[")
    return holder, int(index)


def indexes(path: str) -> tuple[int, ...]:
    """Return the numbers of the iterations in which a step stands, the outermost first."""
    return tuple(map(int, _INDEX.findall(path))) if "[" in path else ()


def near(address: str, path: str) -> str:
    """Return the path of the node at `address` as it is seen from a step in one of the blocks around it."""
    depth = address.count(".")
    return ".".join([*path.split(".")[:depth], id_of(address)])


def around(path: str) -> list[str]:
    """Return the steps in which a step stands, the nearest first: `a.b[1].c` stands in `a.b[1]`, `a.b` and `a`."""
    found = []
    while path:
        path = holder[0] if (holder := iterated(path)) else block_of(path)
        if path:
            found.append(path)
    return found
