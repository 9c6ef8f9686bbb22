"""Step paths: `docs[2].request` is the step `request` in the third iteration of the step `docs`.

Without its numbers a path is the address of a step of the definition. The block in which a step stands is named by the
path up to its last dot: the step that holds the block, or an iteration of it.
"""

import re
from collections.abc import Collection, Iterator

_NUMBER = re.compile(r"\[[0-9]+\]")
_PART = re.compile(r"([^.\[\]]+)(?:\[(0|[1-9][0-9]{0,3})\])?")
_PART_SHOWN = re.compile(r"(?:^|\.)([^.]*?)(?:\[([0-9]{1,9})\])?(?=\.|\Z)", re.DOTALL)
_ENDINGS = {
    "success": "done",
    "failure": "failed",
    "timeout": "out of time",
    "rejected": "rejected",
    "changes_requested": "changes requested",
}


def address_of(path: str) -> str:
    """Return the address of the step of the definition."""
    return _NUMBER.sub("", path) if "[" in path else path


def block_of(path: str) -> str:
    """Return the path of what holds the block in which a step stands; "" at the top."""
    return path.rpartition(".")[0]


def inside(block: str, address: str) -> str:
    """Return the path of the step of an address, in a block."""
    name = address.rpartition(".")[2]
    return f"{block}.{name}" if block else name


def near(address: str, path: str) -> str:
    """Return the path of the step of an address, as it is seen from another in its block, or in one inside that."""
    depth = address.count(".")
    return inside(".".join(path.split(".")[:depth]), address)


def iterated(path: str) -> tuple[str, int] | None:
    """Return the path of the step that is repeated, and which time this is, from 0; None where it is none."""
    holder, _, number = path[:-1].rpartition("[") if path.endswith("]") else ("", "", "")
    return (holder, int(number)) if holder else None


def around(path: str) -> Iterator[str]:
    """Give the steps in which a step stands, the nearest first: `a[1].b` stands in `a[1]` and `a`."""
    while path := _holder(path):
        yield path


def _holder(path: str) -> str:
    repeated = iterated(path)
    return repeated[0] if repeated else block_of(path)


def parts_of(path: str) -> list[tuple[str, str, bool]] | None:
    """Return for each part of a path its address, its name, and whether it has a number; None where it is no path."""
    found, address = list[tuple[str, str, bool]](), ""
    for part in path.split("."):
        read = _PART.fullmatch(part)
        if read is None:
            return None
        address = inside(address, read[1])
        found.append((address, read[1], read[2] is not None))
    return found


def place_of(path: str) -> tuple[int, ...]:
    """Return the numbers in a path, by which iterations are put in order."""
    return tuple(int(number[1:-1]) for number in _NUMBER.findall(path))


def path_in_words(path: str, branches: Collection[str]) -> str:
    """Return a path as people read it: `docs, round 3: request`. `branches` are the addresses of branches."""
    words, address = "", ""
    for name, number in _PART_SHOWN.findall(path):
        address = inside(address, name)
        if address in branches and name in _ENDINGS:
            words += f", {_ENDINGS[name]}"
        else:
            words += (": " if words else "") + name.replace("_", " ")
        words += f", round {int(number) + 1}" if number else ""
    return words
