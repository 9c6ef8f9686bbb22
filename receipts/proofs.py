"""Inclusion and consistency proofs: RFC 9162, sections 2.1.3 and 2.1.4, whose steps are numbered here as there.

They are made of nodes of the log, and checked with nothing but tree heads.

One proof shows that many leaves stand in a log: what their paths share is said once. It is made of the roots of the
subtrees that have none of the leaves, from left to right, the tree being split as RFC 6962 splits it. Of one leaf it
has the hashes of its path of RFC 9162, in the order of their places.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from receipts.errors import ProofError
from receipts.hashes import (
    EMPTY_ROOT,
    MAX_SIZE,
    NodeSource,
    TreeHead,
    check_hashes,
    hash_children,
    range_root,
    split,
)

MAX_PATH = 64
"""Hashes that no proof exceeds, whatever the size."""


def inclusion_proof(node: NodeSource, index: int, size: int) -> list[bytes]:
    """Return PATH(index, D[0:size]) of section 2.1.3.1: from the leaf's sibling to the child of the root."""
    if not 0 <= index < size <= MAX_SIZE:
        raise ProofError(f"there is no leaf {index} in a log of {size}")
    path, begin, end = [], 0, size
    while end - begin > 1:
        middle = begin + split(end - begin)
        if index < middle:
            path.append(range_root(node, middle, end))
            end = middle
        else:
            path.append(range_root(node, begin, middle))
            begin = middle
    return path[::-1]


def consistency_proof(node: NodeSource, old: int, new: int) -> list[bytes]:
    """Return PROOF(old, D[0:new]) of section 2.1.4.1; nothing need be proven of an empty log or of the same size."""
    if not 0 <= old <= new <= MAX_SIZE:
        raise ProofError(f"a log of {old} leaves is no beginning of one of {new}")
    path: list[bytes] = []
    begin, end = 0, new if old else 0
    while end > old or begin:  # the subtree is not the old tree itself
        if end == old:
            path.append(range_root(node, begin, end))
            break
        middle = begin + split(end - begin)
        if old <= middle:
            path.append(range_root(node, middle, end))
            end = middle
        else:
            path.append(range_root(node, begin, middle))
            begin = middle
    return path[::-1]


def verify_inclusion(head: TreeHead, index: int, leaf_hash: bytes, path: Sequence[bytes]) -> None:
    """Raise ProofError unless the leaf stands at `index` of the log: section 2.1.3.2."""
    check_hashes([head.root, leaf_hash, *path], "inclusion proof")
    if not 0 <= index < head.size <= MAX_SIZE:
        raise ProofError(f"inclusion proof: there is no leaf {index} in a log of {head.size}")  # 1
    fn, sn, root = index, head.size - 1, leaf_hash  # 2, 3
    for hash_ in path:  # 4
        if sn == 0:
            raise ProofError("inclusion proof: it has more hashes than the tree has levels")
        if fn & 1 or fn == sn:
            root = hash_children(hash_, root)
            fn, sn = _climb(fn, sn)
        else:
            root = hash_children(root, hash_)
        fn, sn = fn >> 1, sn >> 1
    if sn:  # 5
        raise ProofError("inclusion proof: it has fewer hashes than the tree has levels")
    if root != head.root:
        raise ProofError(f"inclusion proof: leaf {index} does not give the root of {head.size} leaves")


def verify_consistency(old: TreeHead, new: TreeHead, path: Sequence[bytes]) -> None:
    """Raise ProofError unless the old log is the beginning of the new one: section 2.1.4.2.

    What the section leaves open: two logs of one size have one root, and the empty log begins every other; neither
    needs a hash to prove it.
    """
    check_hashes([old.root, new.root, *path], "consistency proof")
    if not 0 <= old.size <= new.size <= MAX_SIZE:
        raise ProofError(f"consistency proof: a log of {old.size} leaves is no beginning of one of {new.size}")
    for head in (old, new):
        if head.size == 0 and head.root != EMPTY_ROOT:
            raise ProofError("consistency proof: the root of an empty log is another")
    if old.size in (0, new.size):
        _verify_trivial(old, new, path)
    elif not path:  # 1
        raise ProofError(f"consistency proof: none from {old.size} to {new.size} leaves")
    else:
        _verify_growth(old, new, path)


def _verify_trivial(old: TreeHead, new: TreeHead, path: Sequence[bytes]) -> None:
    if path:
        raise ProofError(f"consistency proof: from {old.size} to {new.size} leaves it has no hashes")
    if old.size == new.size and old.root != new.root:
        raise ProofError(f"consistency proof: there are two roots of {new.size} leaves")


def _verify_growth(old: TreeHead, new: TreeHead, path: Sequence[bytes]) -> None:
    hashes = [old.root, *path] if old.size & (old.size - 1) == 0 else path  # 2
    fn, sn = old.size - 1, new.size - 1  # 3
    while fn & 1:  # 4
        fn, sn = fn >> 1, sn >> 1
    old_root = new_root = hashes[0]  # 5
    for hash_ in hashes[1:]:  # 6
        if sn == 0:
            raise ProofError("consistency proof: it has more hashes than the tree has levels")
        if fn & 1 or fn == sn:
            old_root, new_root = hash_children(hash_, old_root), hash_children(hash_, new_root)
            fn, sn = _climb(fn, sn)
        else:
            new_root = hash_children(new_root, hash_)
        fn, sn = fn >> 1, sn >> 1
    if sn:  # 7
        raise ProofError("consistency proof: it has fewer hashes than the tree has levels")
    if old_root != old.root:
        raise ProofError(f"consistency proof: it does not give the root of {old.size} leaves")
    if new_root != new.root:
        raise ProofError(f"consistency proof: it does not give the root of {new.size} leaves")


def _climb(fn: int, sn: int) -> tuple[int, int]:
    """Go up while the node is a left child, and not beyond the left edge."""
    while fn and not fn & 1:
        fn, sn = fn >> 1, sn >> 1
    return fn, sn


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
