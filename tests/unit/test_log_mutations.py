"""A hundred thousand altered proofs, checkpoints and tiles: none is accepted, and none does worse than be refused."""

import random
from collections.abc import Callable

import pytest

from receipts.errors import LogError
from receipts.log.checkpoint import LogKeys, open_checkpoint
from receipts.log.entry_proof import EntryProof, parse_entry_proof, verify_entry_proof
from receipts.log.hashes import TreeHead, hash_leaf
from receipts.log.note import parse_note
from receipts.log.proofs import consistency_proof, inclusion_proof, verify_consistency, verify_inclusion
from receipts.log.tiles import EntryBundle, Tile, check_bundle, data_at, nodes_of, tiles_between
from tests.unit.log_sample import sample_log, signer, vkey, witness_key

SIZE = 300
LOG = sample_log(SIZE)
OWNER, WITNESS = signer("log.example/acme", 1), signer("witness.example/w1", 2)
KEYS, WITNESSES = LogKeys((vkey(OWNER),)), [witness_key(WITNESS)]
SIGNED = LOG.checkpoint(OWNER, SIZE)
COSIGNED = SIGNED.signed_by(WITNESS.cosign(SIGNED.text, 1_790_000_000))
FILES = {place: data_at(place, LOG.node, lambda a, b: LOG.entries[a:b]) for place in tiles_between(0, SIZE)}
HEADS = LOG.heads()
PROVEN = 41
LEAF = hash_leaf(LOG.entries[PROVEN])

Attempt = Callable[[random.Random], None]


def altered(data: bytes, chance: random.Random) -> bytes:
    """Return other bytes: a bit flipped, a byte replaced, lost, doubled or moved, a piece cut out, or the end lost."""
    place = chance.randrange(len(data))
    end = min(len(data), place + chance.randint(1, 40))
    ways = [
        lambda: data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :],
        lambda: data[:place] + chance.randbytes(1) + data[place + 1 :],
        lambda: data[:place] + data[place + 1 :],
        lambda: data[:place] + data[place : place + 1] + data[place:],
        lambda: data[:place] + data[end:] + data[place:end],
        lambda: data[:place] + data[end:],
        lambda: data[:place],
        lambda: data[:place] + chance.choice([b"\n", b"\n\n", b" ", b"0", b"=", b"\x00", b"\xff", b"+"]) + data[place:],
    ]
    changed = chance.choice(ways)()
    return changed if changed != data else altered(data, chance)


def altered_path(path: list[bytes], chance: random.Random) -> list[bytes]:
    """Return another list of hashes: one altered, lost, doubled or swapped with the next."""
    place = chance.randrange(len(path))
    ways = [
        lambda: [*path[:place], altered(path[place], chance), *path[place + 1 :]],
        lambda: path[:place] + path[place + 1 :],
        lambda: path[: place + 1] + path[place:],
        lambda: [*path[:place], *path[place : place + 2][::-1], *path[place + 2 :]],
    ]
    changed = chance.choice(ways)()
    return changed if changed != path else altered_path(path, chance)


def inclusion(chance: random.Random) -> None:
    size = chance.randint(2, SIZE)
    index = chance.randrange(size)
    path = altered_path(LOG.inclusion(index, size), chance)
    verify_inclusion(HEADS[size], index, LOG.node(0, index), path)


def inclusion_elsewhere(chance: random.Random) -> None:
    size, other = chance.sample(range(1, SIZE + 1), 2)
    index = chance.randrange(size)
    lie = chance.choice([(HEADS[other].root, size, index), (HEADS[size].root, size, (index + other) % SIZE)])
    root, size, place = lie
    if (root, place) == (HEADS[size].root, index):
        place += 1
    verify_inclusion(TreeHead(size, root), place, LOG.node(0, index), LOG.inclusion(index, size))


def consistency(chance: random.Random) -> None:
    old, new = sorted(chance.sample(range(1, SIZE + 1), 2))
    verify_consistency(HEADS[old], HEADS[new], altered_path(LOG.consistency(old, new), chance))


def consistency_elsewhere(chance: random.Random) -> None:
    """Two of the roots are those of other sizes, or the sizes are told wrongly."""
    old, new = sorted(chance.sample(range(1, SIZE), 2))
    lies = [
        (TreeHead(old, HEADS[new].root), HEADS[new]),
        (TreeHead(old, HEADS[old + 1].root), HEADS[new]),
        (HEADS[old], TreeHead(new, HEADS[new + 1].root)),
        (TreeHead(old, HEADS[old].root), TreeHead(old, HEADS[new].root)),
    ]
    before, after = chance.choice(lies)
    verify_consistency(before, after, LOG.consistency(old, new))


def checkpoint(chance: random.Random) -> None:
    open_checkpoint(parse_note(altered(bytes(SIGNED), chance)), KEYS)


def cosigned(chance: random.Random) -> None:
    """Alter what both signed; a line of the witness alone may become that of a stranger, who is ignored."""
    text = altered(SIGNED.text.encode(), chance)
    open_checkpoint(parse_note(text + bytes(COSIGNED)[len(SIGNED.text.encode()) :]), KEYS)


def entry_proof(chance: random.Random) -> None:
    proof = bytes(EntryProof(PROVEN, tuple(LOG.inclusion(PROVEN, SIZE)), SIGNED))
    verify_entry_proof(parse_entry_proof(altered(proof, chance)), LEAF, KEYS, WITNESSES)


def bundle(chance: random.Random) -> None:
    place = EntryBundle(1, SIZE - 256)
    check_bundle(place, altered(FILES[place], chance), FILES[place.tile])


def tile(chance: random.Random) -> None:
    """Alter one tile in which a proof is looked up; what is made of it does not hold."""
    spoilt = Tile(0, 1, SIZE - 256)
    files = FILES | {spoilt: altered(FILES[spoilt], chance)}
    node = nodes_of(files.__getitem__, SIZE)
    index = chance.randrange(256, SIZE)
    verify_inclusion(HEADS[SIZE], index, LOG.node(0, index), inclusion_proof(node, index, SIZE))
    verify_consistency(HEADS[256], HEADS[SIZE], consistency_proof(node, 256, SIZE))


# What costs a signature or a whole tile is tried less often.
ATTEMPTS: list[tuple[Attempt, int]] = [
    (inclusion, 25_000),
    (inclusion_elsewhere, 15_000),
    (consistency, 25_000),
    (consistency_elsewhere, 15_000),
    (checkpoint, 6_000),
    (cosigned, 4_000),
    (entry_proof, 6_000),
    (bundle, 2_000),
    (tile, 2_000),
]


def test_there_are_a_hundred_thousand() -> None:
    assert sum(count for _, count in ATTEMPTS) == 100_000


@pytest.mark.parametrize(("attempt", "count"), ATTEMPTS, ids=[attempt.__name__ for attempt, _ in ATTEMPTS])
def test_nothing_that_was_altered_is_accepted(attempt: Attempt, count: int) -> None:
    accepted = []
    for seed in range(count):
        try:
            attempt(random.Random(seed))  # noqa: S311 - the same alterations in every run
        except LogError:
            continue
        accepted.append(seed)
    assert accepted == []
