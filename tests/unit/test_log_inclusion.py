"""One proof for many leaves: it holds for these leaves, in this log, and for nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts.errors import ProofError
from receipts.log.hashes import TreeHead, hash_leaf
from receipts.log.proofs import check_inclusion, prove_inclusion
from tests.unit.log_sample import sample_log

SIZE = 130
LOG = sample_log(SIZE)
HEADS = LOG.heads()
LEAVES = [hash_leaf(entry) for entry in LOG.entries]

sizes = st.integers(1, SIZE)


@st.composite
def chosen(draw: st.DrawFn) -> tuple[int, list[int]]:
    size = draw(sizes)
    return size, sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=12)))


def _leaves(indices: list[int]) -> dict[int, bytes]:
    return {index: LEAVES[index] for index in indices}


@given(chosen())
def test_leaves_are_in_the_log_that_they_stand_in(choice: tuple[int, list[int]]) -> None:
    size, indices = choice
    check_inclusion(HEADS[size], _leaves(indices), prove_inclusion(LOG.node, indices, size))


@given(sizes, st.data())
def test_of_one_leaf_it_has_the_hashes_of_its_path(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    assert sorted(prove_inclusion(LOG.node, [index], size)) == sorted(LOG.inclusion(index, size))


def test_of_all_leaves_it_is_empty() -> None:
    assert prove_inclusion(LOG.node, list(range(SIZE)), SIZE) == []


@given(chosen(), st.data())
def test_a_proof_with_another_hash_does_not_hold(choice: tuple[int, list[int]], data: st.DataObject) -> None:
    size, indices = choice
    proof, leaves = prove_inclusion(LOG.node, indices, size), _leaves(indices)
    place = data.draw(st.integers(0, len(proof) + len(leaves) - 1))
    if place < len(proof):
        proof[place] = bytes(32)
    else:
        leaves[indices[place - len(proof)]] = bytes(32)
    with pytest.raises(ProofError, match="do not give the root"):
        check_inclusion(HEADS[size], leaves, proof)


@given(chosen(), sizes)
def test_a_proof_of_another_log_does_not_hold(choice: tuple[int, list[int]], other: int) -> None:
    size, indices = choice
    proof = prove_inclusion(LOG.node, indices, size)
    if other != size:
        with pytest.raises(ProofError):
            check_inclusion(HEADS[other], _leaves(indices), proof)


@given(chosen())
def test_a_proof_has_exactly_the_hashes_that_it_needs(choice: tuple[int, list[int]]) -> None:
    size, indices = choice
    proof = prove_inclusion(LOG.node, indices, size)
    for other in ([*proof, bytes(32)], *([proof[:-1]] if proof else [])):
        with pytest.raises(ProofError, match=r"has .* hashes, where"):
            check_inclusion(HEADS[size], _leaves(indices), other)


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
        prove_inclusion(LOG.node, indices, size)


def test_a_log_of_any_size_is_refused_quickly() -> None:
    with pytest.raises(ProofError, match="has 0 hashes, where these leaves take"):
        check_inclusion(TreeHead(2**63 - 1, bytes(32)), {0: bytes(32), 2**62: bytes(32)}, [])
