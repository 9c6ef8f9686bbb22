"""The business state: which keys a step reads and writes, and that no two do so side by side (design, 16, D6)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from runtime.definitions.model import Edge

EVERY = "*"
"""Read where an expression takes the state as a whole."""


@dataclass
class Touched:
    """Keys of the state that a step, with all that stands in it, reads and writes."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)

    def clash(self, other: "Touched") -> str | None:
        """Return a key that one of the two writes and the other reads or writes."""
        for one, two in ((self, other), (other, self)):
            for key in sorted(one.writes):
                if key in two.writes or key in two.reads or EVERY in two.reads:
                    return key
        return None


def clashes(
    block: Sequence[str], edges: Iterable[Edge], touched: Mapping[str, Touched]
) -> Iterator[tuple[str, str, str]]:
    """Yield pairs of steps of a block that nothing puts in order, and the key that they would race for."""
    concerned = [one for one in block if one in touched and (touched[one].reads or touched[one].writes)]
    after: dict[str, set[str]] = {}
    for edge in edges:
        after.setdefault(edge.source, set()).add(edge.target)
    reached = {one: _reached(one, after) for one in concerned}
    for one, two in combinations(concerned, 2):
        if two not in reached[one] and one not in reached[two] and (key := touched[one].clash(touched[two])):
            yield one, two, key


def _reached(start: str, after: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    row = [start]
    while row:
        row = [target for one in row for target in after.get(one, ()) if target not in found]
        found.update(row)
    return found
