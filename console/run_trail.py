"""The audit trail on a page: routine records that follow each other are folded into one line, which counts them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from runtime.services.run_details import TrailLeaf


@dataclass(frozen=True)
class Fold:
    """Records that follow each other: one that matters, or routine ones with how many there are of each event."""

    leaves: Sequence[TrailLeaf]
    is_routine: bool

    @property
    def says(self) -> str:
        """Return how many there are of each event."""
        counts = Counter(leaf.event for leaf in self.leaves)
        return ", ".join(f"{count} {event}" for event, count in counts.items())


def folded(leaves: Sequence[TrailLeaf]) -> list[Fold]:
    """Return all the records in their order; each that matters stands by itself."""
    found = []
    for is_routine, group in groupby(leaves, key=lambda leaf: leaf.is_routine):
        own = list(group)
        found += [Fold(own, is_routine=True)] if is_routine else [Fold([leaf], is_routine=False) for leaf in own]
    return found
