"""Proofs of the log: hashes, compact ranges, consistency, and inclusion of many leaves.

A log's hashes, compact ranges and proofs are those of RFC 6962, and a proof of anything else does not hold.

One proof for many leaves: it holds for these leaves, in this log, and for nothing else.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from receipts.errors import ProofError
from receipts.hashes import EMPTY, EMPTY_ROOT, MAX_SIZE, CompactRange, TreeHead, hash_leaf, range_root, root_of
from receipts.proofs import (
    check_inclusion,
    consistency_proof,
    inclusion_proof,
    prove_inclusion,
    verify_consistency,
    verify_inclusion,
)
from tests.unit.log_sample import MemoryLog, far_node, new_nodes, sample_log

SIZE = 260
LOG = sample_log(SIZE)
HEADS = LOG.heads()
LEAVES = [hash_leaf(entry) for entry in LOG.entries]

# The leaves and roots that implementations of RFC 6962 share as test vectors.
SHARED_LEAVES = [
    *("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"),
]
SHARED_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]

sizes = st.integers(1, MAX_SIZE)


@pytest.fixture(scope="module")
def other_log() -> InmemoryTree:
    """The same log as another implementation keeps it. It counts leaves from 1."""
    tree = InmemoryTree(algorithm="sha256")
    for entry in LOG.entries:
        tree.append_entry(entry)
    return tree


def refused(what: str) -> "pytest.RaisesExc[ProofError]":
    return pytest.raises(ProofError, match=what)


@pytest.mark.parametrize("size", range(len(SHARED_ROOTS)))
def test_roots_are_those_of_the_shared_vectors(size: int) -> None:
    log = MemoryLog().append(*map(bytes.fromhex, SHARED_LEAVES[:size]))
    assert log.range.head() == TreeHead(size, bytes.fromhex(SHARED_ROOTS[size]))


def test_roots_are_those_of_another_implementation(other_log: InmemoryTree) -> None:
    roots = [other_log.get_root(size) for size in range(1, SIZE + 1)]
    assert [head.root for head in HEADS[1:]] == roots
    assert [LOG.head(size).root for size in range(1, SIZE + 1)] == roots


def test_inclusion_proofs_are_those_of_another_implementation(other_log: InmemoryTree) -> None:
    for size in range(1, SIZE + 1, 7):
        for index in range(size):
            theirs = other_log.prove_inclusion(index + 1, size)
            own = LOG.inclusion(index, size)
            assert theirs.path == [LEAVES[index], *own]


def test_consistency_holds_with_the_proofs_of_both_implementations(other_log: InmemoryTree) -> None:
    """Theirs have other hashes than RFC 6962's, and the same roots."""
    for new in range(1, SIZE + 1, 7):
        for old in range(1, new):
            before, after = other_log.get_root(old), other_log.get_root(new)
            verify_consistency(TreeHead(old, before), TreeHead(new, after), LOG.consistency(old, new))
            other_log.prove_consistency(old, new).verify(HEADS[old].root, HEADS[new].root)


def test_every_leaf_of_every_size_is_proven() -> None:
    for size in range(1, SIZE + 1):
        for index in range(0, size, 3):
            verify_inclusion(HEADS[size], index, LEAVES[index], LOG.inclusion(index, size))


def test_every_size_is_proven_to_begin_every_later_one() -> None:
    for new in range(SIZE + 1):
        for old in range(0, new + 1, 3):
            verify_consistency(HEADS[old], HEADS[new], LOG.consistency(old, new))


@given(sizes, st.data())
def test_logs_of_any_size_have_short_proofs_that_hold(size: int, data: st.DataObject) -> None:
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    head, before = TreeHead(size, root_of(far_node, size)), TreeHead(old, root_of(far_node, old))
    inclusion, consistency = inclusion_proof(far_node, index, size), consistency_proof(far_node, old, size)
    verify_inclusion(head, index, far_node(0, index), inclusion)
    verify_consistency(before, head, consistency)
    assert max(len(inclusion), len(consistency)) <= 63


@given(st.integers(0, SIZE), st.integers(0, SIZE))
def test_leaves_may_come_in_any_batches(first: int, second: int) -> None:
    first, second = sorted((first, second))
    grown = EMPTY.append(LEAVES[:first]).range.append(LEAVES[first:second]).range.append(LEAVES[second:]).range
    assert grown == LOG.range


@given(st.integers(0, SIZE))
def test_growth_tells_every_node_that_is_new_and_no_other(size: int) -> None:
    before = sample_log(size)
    new = new_nodes(before.range.append(LEAVES[size:]))
    assert new.keys() == LOG.nodes.keys() - before.nodes.keys()
    assert before.nodes | new == LOG.nodes


def test_range_that_came_apart_is_refused() -> None:
    with refused("6 leaves has 2 hashes, not 1"):
        CompactRange(6, LOG.range.hashes[:1])
    with refused("hash 0 has 31 bytes"):
        CompactRange(1, (bytes(31),))
    with refused("there is no log of -1 leaves"):
        CompactRange(-1, ())


def test_proof_is_made_of_leaves_and_sizes_that_are_there() -> None:
    for index, size in ((-1, 3), (3, 3), (0, 0), (0, MAX_SIZE + 1)):
        with refused("there is no leaf"):
            inclusion_proof(LOG.node, index, size)
    with refused("is no beginning"):
        consistency_proof(LOG.node, 4, 3)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 64, 100, 255, 256, 257])
def test_proof_of_another_leaf_index_size_or_root_does_not_hold(size: int) -> None:
    for index in range(size):
        head, path = HEADS[size], LOG.inclusion(index, size)
        lies = [
            (head, index, hash_leaf(b"never logged"), path),
            (head, size, LEAVES[index], path),
            (head, -1, LEAVES[index], path),
            (TreeHead(size, EMPTY_ROOT), index, LEAVES[index], path),
            (head, index, LEAVES[index], [*path, EMPTY_ROOT]),
            *([(head, index, LEAVES[index], path[:-1]), (head, index ^ 1, LEAVES[index], path)] if path else []),
        ]
        for lie in lies:
            with pytest.raises(ProofError):
                verify_inclusion(*lie)


@pytest.mark.parametrize("new", [2, 3, 7, 8, 9, 64, 100, 256, 257])
def test_fork_is_not_consistent_whatever_the_proof(new: int) -> None:
    fork = sample_log(new, salt="another ")
    for old in range(1, new):
        for path in (LOG.consistency(old, new), fork.consistency(old, new), []):
            with pytest.raises(ProofError):
                verify_consistency(HEADS[old], fork.head(new), path)
            with pytest.raises(ProofError):
                verify_consistency(fork.head(old), HEADS[new], path)


def test_proof_of_too_many_or_too_few_hashes_does_not_hold() -> None:
    path = LOG.consistency(5, 100)
    with refused("more hashes"):
        verify_consistency(HEADS[5], HEADS[100], [*path, path[0]])
    with refused("fewer hashes"):
        verify_consistency(HEADS[5], HEADS[100], path[:-1])
    with refused("none from 5 to 100"):
        verify_consistency(HEADS[5], HEADS[100], [])
    with refused("hash 2 has 31 bytes"):
        verify_consistency(HEADS[5], HEADS[100], [path[0][1:], *path[1:]])


def test_same_size_has_one_root_and_needs_no_hash() -> None:
    verify_consistency(HEADS[9], HEADS[9], [])
    with refused("two roots of 9 leaves"):
        verify_consistency(HEADS[9], TreeHead(9, EMPTY_ROOT), [])
    with refused("it has no hashes"):
        verify_consistency(HEADS[9], HEADS[9], [EMPTY_ROOT])


def test_empty_log_begins_every_log_by_its_own_root_alone() -> None:
    verify_consistency(HEADS[0], HEADS[9], [])
    with refused("root of an empty log"):
        verify_consistency(TreeHead(0, HEADS[1].root), HEADS[9], [])
    with refused("it has no hashes"):
        verify_consistency(HEADS[0], HEADS[9], [EMPTY_ROOT])


def test_log_does_not_shrink() -> None:
    with refused("of 9 leaves is no beginning of one of 8"):
        verify_consistency(HEADS[9], HEADS[8], LOG.consistency(8, 9))


@settings(max_examples=50)
@given(st.integers(1, SIZE), st.data())
def test_part_of_the_log_has_the_root_of_its_own_leaves(end: int, data: st.DataObject) -> None:
    level = data.draw(st.integers(0, end.bit_length() - 1))
    begin = (data.draw(st.integers(0, end - 1)) >> level) << level
    stop = min(end, begin + (1 << level))
    assert range_root(LOG.node, begin, stop) == EMPTY.append(LEAVES[begin:stop]).range.head().root


INCLUDED_SIZE = 130
INCLUDED_LOG = sample_log(INCLUDED_SIZE)
INCLUDED_HEADS = INCLUDED_LOG.heads()
INCLUDED_LEAVES = [hash_leaf(entry) for entry in INCLUDED_LOG.entries]

included_sizes = st.integers(1, INCLUDED_SIZE)


@st.composite
def chosen(draw: st.DrawFn) -> tuple[int, list[int]]:
    size = draw(included_sizes)
    return size, sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=12)))


def _leaves(indices: list[int]) -> dict[int, bytes]:
    return {index: INCLUDED_LEAVES[index] for index in indices}


@given(chosen())
def test_leaves_are_in_the_log_that_they_stand_in(choice: tuple[int, list[int]]) -> None:
    size, indices = choice
    check_inclusion(INCLUDED_HEADS[size], _leaves(indices), prove_inclusion(INCLUDED_LOG.node, indices, size))


@given(included_sizes, st.data())
def test_of_one_leaf_it_has_the_hashes_of_its_path(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    assert sorted(prove_inclusion(INCLUDED_LOG.node, [index], size)) == sorted(INCLUDED_LOG.inclusion(index, size))


def test_of_all_leaves_it_is_empty() -> None:
    assert prove_inclusion(INCLUDED_LOG.node, list(range(INCLUDED_SIZE)), INCLUDED_SIZE) == []


@given(chosen(), st.data())
def test_a_proof_with_another_hash_does_not_hold(choice: tuple[int, list[int]], data: st.DataObject) -> None:
    size, indices = choice
    proof, leaves = prove_inclusion(INCLUDED_LOG.node, indices, size), _leaves(indices)
    place = data.draw(st.integers(0, len(proof) + len(leaves) - 1))
    if place < len(proof):
        proof[place] = bytes(32)
    else:
        leaves[indices[place - len(proof)]] = bytes(32)
    with pytest.raises(ProofError, match="do not give the root"):
        check_inclusion(INCLUDED_HEADS[size], leaves, proof)


@given(chosen(), included_sizes)
def test_a_proof_of_another_log_does_not_hold(choice: tuple[int, list[int]], other: int) -> None:
    size, indices = choice
    proof = prove_inclusion(INCLUDED_LOG.node, indices, size)
    if other != size:
        with pytest.raises(ProofError):
            check_inclusion(INCLUDED_HEADS[other], _leaves(indices), proof)


@given(chosen())
def test_a_proof_has_exactly_the_hashes_that_it_needs(choice: tuple[int, list[int]]) -> None:
    size, indices = choice
    proof = prove_inclusion(INCLUDED_LOG.node, indices, size)
    for other in ([*proof, bytes(32)], *([proof[:-1]] if proof else [])):
        with pytest.raises(ProofError, match=r"has .* hashes, where"):
            check_inclusion(INCLUDED_HEADS[size], _leaves(indices), other)


@pytest.mark.parametrize(
    ("indices", "size", "said"),
    [
        ([], 5, "no leaves to prove"),
        ([0], 0, "no leaves to prove"),
        ([0], 2**63, "no leaves to prove"),
        ([5], 5, "do not ascend"),
        ([-1], 5, "do not ascend"),
        ([1, 1], 5, "do not ascend"),
        ([2, 1], 5, "do not ascend"),
    ],
)
def test_what_is_no_choice_of_leaves_is_refused(indices: list[int], size: int, said: str) -> None:
    with pytest.raises(ProofError, match=said):
        prove_inclusion(INCLUDED_LOG.node, indices, size)


def test_a_log_of_any_size_is_refused_quickly() -> None:
    with pytest.raises(ProofError, match="has 0 hashes, where these leaves take"):
        check_inclusion(TreeHead(2**63 - 1, bytes(32)), {0: bytes(32), 2**62: bytes(32)}, [])
