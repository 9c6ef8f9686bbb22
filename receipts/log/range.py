"""Compact ranges: all that must be kept of a log to let it grow, at most 2 * 63 hashes.

A range stands for the leaves from `begin` up to, and not with, `end`, by the roots of the largest complete subtrees
that make them up. It needs no leaf to grow, so a batch costs its own leaves and nothing of the log before it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from receipts.log.errors import ProofError
from receipts.log.hashes import EMPTY_ROOT, MAX_SIZE, NodeSource, TreeHead, check_hashes, fold, hash_children, subtrees


@dataclass(frozen=True)
class Node:
    """The root of a complete subtree, and its place."""

    level: int
    index: int
    hash: bytes


@dataclass(frozen=True)
class CompactRange:
    """The leaves from `begin` to `end`; `hashes` are their largest complete subtrees, from left to right."""

    begin: int
    end: int
    hashes: tuple[bytes, ...]

    def __post_init__(self) -> None:
        """Refuse what is no range: it may come out of a database."""
        if not 0 <= self.begin <= self.end <= MAX_SIZE:
            raise ProofError(f"there is no range from {self.begin} to {self.end}")
        check_hashes(self.hashes, "compact range")
        wanted = sum(1 for _ in subtrees(self.begin, self.end))
        if len(self.hashes) != wanted:
            raise ProofError(f"a range from {self.begin} to {self.end} has {wanted} hashes, not {len(self.hashes)}")

    def nodes(self) -> list[Node]:
        """Return the subtrees with their places."""
        places = subtrees(self.begin, self.end)
        return [Node(level, index, one) for (level, index), one in zip(places, self.hashes, strict=True)]

    def append(self, leaf_hashes: Iterable[bytes]) -> "Growth":
        """Return the range with these leaves behind it."""
        return _grow(self, (Node(0, index, leaf) for index, leaf in enumerate(leaf_hashes, self.end)))

    def merge(self, right: "CompactRange") -> "Growth":
        """Return this range and the one that begins where it ends as one."""
        if right.begin != self.end:
            raise ProofError(f"a range that begins at {right.begin} does not follow one that ends at {self.end}")
        return _grow(self, right.nodes())

    def head(self) -> TreeHead:
        """Return size and root of the log that the range is the whole of."""
        if self.begin:
            raise ProofError(f"a range that begins at leaf {self.begin} is not a whole log")
        return TreeHead(self.end, fold(self.hashes) if self.hashes else EMPTY_ROOT)


EMPTY = CompactRange(0, 0, ())


@dataclass(frozen=True)
class Growth:
    """A range that has grown, and the nodes that are complete since then, leaves among them; children come first."""

    range: CompactRange
    nodes: tuple[Node, ...]

    def over(self, before: NodeSource) -> NodeSource:
        """Return the nodes of the grown log, those from before the growth being there already."""
        new = {(node.level, node.index): node.hash for node in self.nodes}
        return lambda level, index: new.get((level, index)) or before(level, index)


def _grow(left: CompactRange, right: Iterable[Node]) -> Growth:
    """Push each node to the right end, and there let siblings become their parent."""
    stack, new, end = left.nodes(), [], left.end
    for node in right:
        end += 1 << node.level
        new.append(node)
        stack.append(node)
        while len(stack) > 1 and _are_siblings(*stack[-2:]):
            second, first = stack.pop(), stack.pop()
            parent = Node(first.level + 1, first.index >> 1, hash_children(first.hash, second.hash))
            new.append(parent)
            stack.append(parent)
    return Growth(CompactRange(left.begin, end, tuple(node.hash for node in stack)), tuple(new))


def _are_siblings(left: Node, right: Node) -> bool:
    return left.level == right.level and left.index % 2 == 0 and left.index + 1 == right.index
