"""The compact range of a log: all that must be kept of it to let it grow, at most 63 hashes.

It stands for the leaves by the roots of the largest complete subtrees that make them up. It needs no leaf to grow, so a
batch costs its own leaves and nothing of the log before it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from receipts.log.errors import ProofError
from receipts.log.hashes import EMPTY_ROOT, MAX_SIZE, TreeHead, check_hashes, fold, hash_children, subtrees


@dataclass(frozen=True)
class Row:
    """Nodes of one level that follow each other: `hashes` are those at `first` and behind it."""

    level: int
    first: int
    hashes: Sequence[bytes]


@dataclass(frozen=True)
class CompactRange:
    """The first `size` leaves; `hashes` are their largest complete subtrees, from left to right."""

    size: int
    hashes: tuple[bytes, ...]

    def __post_init__(self) -> None:
        """Refuse what is no range: it may come out of a database."""
        if not 0 <= self.size <= MAX_SIZE:
            raise ProofError(f"there is no log of {self.size} leaves")
        check_hashes(self.hashes, "compact range")
        if len(self.hashes) != self.size.bit_count():
            raise ProofError(f"a log of {self.size} leaves has {self.size.bit_count()} hashes, not {len(self.hashes)}")

    def append(self, leaf_hashes: Iterable[bytes]) -> "Growth":
        """Return the range with these leaves behind it."""
        leaves = list(leaf_hashes)
        standing = dict(zip(subtrees(0, self.size), self.hashes, strict=True))
        rows = tuple(_rows(Row(0, self.size, leaves), standing))
        size = self.size + len(leaves)
        ends = (_in_rows(rows, *place) or standing[place] for place in subtrees(0, size))
        return Growth(CompactRange(size, tuple(ends)), rows)

    def head(self) -> TreeHead:
        """Return size and root of the log."""
        return TreeHead(self.size, fold(self.hashes) if self.hashes else EMPTY_ROOT)


EMPTY = CompactRange(0, ())


@dataclass(frozen=True)
class Growth:
    """A range that has grown, and the nodes that are complete since then, from the leaves up."""

    range: CompactRange
    rows: tuple[Row, ...]


def _rows(row: Row, standing: dict[tuple[int, int], bytes]) -> Iterator[Row]:
    """Yield a row of new nodes and those above it; a node that stood at the right end has its sibling now."""
    while row.hashes:
        yield row
        level, first, hashes = row.level, row.first, row.hashes
        if first % 2:
            first, hashes = first - 1, [standing[level, first - 1], *hashes]
        parents = [hash_children(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=False)]
        row = Row(level + 1, first >> 1, parents)


def _in_rows(rows: Sequence[Row], level: int, index: int) -> bytes | None:
    """Return the hash of a node, where it is a new one."""
    row = rows[level] if level < len(rows) else None
    return row.hashes[index - row.first] if row is not None and index >= row.first else None
