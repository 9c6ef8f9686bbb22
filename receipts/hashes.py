"""The hashes of a Merkle log: RFC 6962, section 2.1, with SHA-256. A hash is 32 bytes.

The node at `(level, index)` is the root of the complete subtree over the leaves from `index << level` up to, and not
with, `(index + 1) << level`; level 0 are the leaves.

The compact range of a log is all that must be kept of it to let it grow, at most 63 hashes. It stands for the leaves by
the roots of the largest complete subtrees that make them up. It needs no leaf to grow, so a batch costs its own leaves
and nothing of the log before it.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from receipts.errors import ProofError

HASH_BYTES = 32
MAX_SIZE = 2**63 - 1
"""Leaves that a log may have: what other implementations keep in a signed number of 64 bits."""

EMPTY_ROOT = hashlib.sha256(b"").digest()

NodeSource = Callable[[int, int], bytes]
"""Gives the hash of the node at `(level, index)`; it is asked for complete subtrees alone."""


@dataclass(frozen=True)
class TreeHead:
    """How many leaves a log has, and the root hash over them."""

    size: int
    root: bytes


def hash_leaf(entry: bytes) -> bytes:
    """Return the hash of a leaf: SHA-256 over a zero byte and the entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def hash_children(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node: SHA-256 over a one byte and both children."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def check_hashes(hashes: Sequence[bytes], what: str) -> None:
    """Raise ProofError unless each of them has the length of a hash."""
    for place, one in enumerate(hashes):
        if len(one) != HASH_BYTES:
            raise ProofError(f"{what}: hash {place} has {len(one)} bytes, not {HASH_BYTES}")


def split(size: int) -> int:
    """Return how many leaves the left part of a tree of `size` has, at least 2: the largest power of two below."""
    return 1 << ((size - 1).bit_length() - 1)


def subtrees(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield level and index of the largest complete subtrees that make up the leaves from `begin` to `end`."""
    while begin < end:
        fits = (end - begin).bit_length() - 1
        level = min(fits, (begin & -begin).bit_length() - 1) if begin else fits
        yield level, begin >> level
        begin += 1 << level


def fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root over subtrees of falling size, of which there is at least one: RFC 6962's MTH."""
    root = hashes[-1]
    for left in reversed(hashes[:-1]):
        root = hash_children(left, root)
    return root


def rows_over(hashes: list[bytes]) -> list[list[bytes]]:
    """Return hashes of one level, and above them row by row the roots of their complete subtrees."""
    rows = [hashes]
    while len(rows[-1]) > 1:
        rows.append([hash_children(left, right) for left, right in zip(rows[-1][::2], rows[-1][1::2], strict=False)])
    return rows


def root_of(node: NodeSource, size: int) -> bytes:
    """Return the root of the log's first `size` leaves."""
    return range_root(node, 0, size) if size else EMPTY_ROOT


def range_root(node: NodeSource, begin: int, end: int) -> bytes:
    """Return MTH(D[begin:end]) where that is a part of a tree as RFC 6962 splits it, and not empty."""
    return fold([node(level, index) for level, index in subtrees(begin, end)])


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
