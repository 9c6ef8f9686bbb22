"""One proof that many leaves stand in a log: what their paths share is said once.

The proof is made of the roots of the subtrees that have none of the leaves, from left to right, the tree being split as
RFC 6962 splits it. Of one leaf it has the hashes of its path of RFC 9162, in the order of their places.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from receipts.log.errors import ProofError
from receipts.log.hashes import MAX_SIZE, NodeSource, TreeHead, check_hashes, hash_children, range_root, split


def prove_inclusion(node: NodeSource, indices: Sequence[int], size: int) -> list[bytes]:
    """Return the proof that leaves at these indices, which ascend, stand in the log's first `size` leaves."""
    _check_indices(indices, size)
    return [range_root(node, begin, end) for begin, end in _without(indices, 0, size)]


def check_inclusion(head: TreeHead, leaves: Mapping[int, bytes], proof: Sequence[bytes]) -> None:
    """Raise ProofError unless leaves with these hashes stand at these indices of the log."""
    indices = sorted(leaves)
    _check_indices(indices, head.size)
    check_hashes([head.root, *leaves.values(), *proof], "inclusion proof")
    wanted = sum(1 for _ in _without(indices, 0, head.size))
    if len(proof) != wanted:
        raise ProofError(f"inclusion proof: it has {len(proof)} hashes, where these leaves take {wanted}")
    if _root(leaves, indices, iter(proof), 0, head.size) != head.root:
        raise ProofError(f"inclusion proof: the leaves do not give the root of {head.size} leaves")


def _check_indices(indices: Sequence[int], size: int) -> None:
    if not indices or not 0 < size <= MAX_SIZE:
        raise ProofError("inclusion proof: there are no leaves to prove")
    if indices[0] < 0 or indices[-1] >= size or any(a >= b for a, b in pairwise(indices)):
        raise ProofError(f"inclusion proof: the leaves do not ascend within a log of {size}")


def _without(indices: Sequence[int], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the largest subtrees begin and end that have none of the leaves."""
    if not indices:
        yield begin, end
    elif end - begin > 1:
        middle = begin + split(end - begin)
        place = bisect_left(indices, middle)
        yield from _without(indices[:place], begin, middle)
        yield from _without(indices[place:], middle, end)


def _root(leaves: Mapping[int, bytes], indices: Sequence[int], proof: Iterator[bytes], begin: int, end: int) -> bytes:
    if not indices:
        return next(proof)
    if end - begin == 1:
        return leaves[begin]
    middle = begin + split(end - begin)
    place = bisect_left(indices, middle)
    left = _root(leaves, indices[:place], proof, begin, middle)
    return hash_children(left, _root(leaves, indices[place:], proof, middle, end))
