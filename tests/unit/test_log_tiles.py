"""The log in tiles: what stands where, and altered proofs, checkpoints and tiles.

A log in tiles: which there are, where they stand, what they hold, and proofs that are made of them alone.

A hundred thousand altered proofs, checkpoints and tiles: none is accepted, and none does worse than be refused.
"""

import random
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts.checkpoint import LogKeys, open_checkpoint
from receipts.entry_proof import EntryProof, parse_entry_proof, verify_entry_proof
from receipts.errors import LogError, TileError
from receipts.hashes import MAX_SIZE, TreeHead, hash_leaf, root_of
from receipts.note import parse_note
from receipts.proofs import consistency_proof, inclusion_proof, verify_consistency, verify_inclusion
from receipts.tiles import (
    MAX_ENTRY,
    TILE_WIDTH,
    EntryBundle,
    Tile,
    bundle_data,
    check_bundle,
    data_at,
    nodes_of,
    parse_path,
    read_bundle,
    read_tile,
    tile_root,
    tiles_between,
    width_at,
)
from tests.unit.log_sample import LARGE, MemoryLog, large_log, new_nodes, sample_log, signer, vkey, witness_key

Files = dict[str, bytes]


def written(log: MemoryLog, old: int, new: int) -> Files:
    """Return what a log that grows must write."""
    return {
        place.path: data_at(place, log.node, lambda begin, end: log.entries[begin:end])
        for place in tiles_between(old, new)
    }


@cache
def large_files() -> Files:
    """Return all that is written of the large log."""
    return written(large_log(), 0, LARGE)


def test_log_of_seventy_thousand_has_the_tiles_of_the_specification() -> None:
    tiles = [place for place in tiles_between(0, LARGE) if isinstance(place, Tile)]
    counted = {
        (level, width): sum(1 for tile in tiles if (tile.level, tile.width) == (level, width))
        for level, width in {(tile.level, tile.width) for tile in tiles}
    }
    assert counted == {(0, 256): 273, (0, 112): 1, (1, 256): 1, (1, 17): 1, (2, 1): 1}
    bundles = [place for place in tiles_between(0, LARGE) if isinstance(place, EntryBundle)]
    assert [bundle.tile for bundle in bundles] == [tile for tile in tiles if tile.level == 0]


def test_log_of_one_full_tile_has_a_partial_one_above_it() -> None:
    assert list(tiles_between(0, 256)) == [EntryBundle(0, 256), Tile(0, 0, 256), Tile(1, 0, 1)]


@pytest.mark.parametrize(
    ("place", "path"),
    [
        (Tile(0, 1234067, 256), "tile/0/x001/x234/067"),
        (Tile(0, 1067, 256), "tile/0/x001/067"),
        (Tile(3, 0, 5), "tile/3/000.p/5"),
        (EntryBundle(999, 255), "tile/entries/999.p/255"),
        (EntryBundle(1000, 256), "tile/entries/x001/000"),
        (Tile(7, MAX_SIZE >> 56, 1), "tile/7/127.p/1"),
    ],
)
def test_path_is_that_of_the_specification_and_reads_back(place: Tile | EntryBundle, path: str) -> None:
    assert place.path == path
    assert parse_path(path) == place


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "tile/0/1",
            "tile/00/001",
            "tile/8/000",
            "tile/x/000",
            "tile/0/0001",
            "tile/0/x000/001",
            "tile/0/001/067",
        ),
        *(
            "tile/0/x001/067.p/256",
            "tile/0/000.p/0",
            "tile/0/000.p/05",
            "tile/0/000.p/999",
            "tile/0/000/",
            "/tile/0/000",
        ),
        *("tile/0/../000", "tile/0/000\n", "tile/0/\u0660\u0660\u0660", "tile/0/" + "x001/" * 2000 + "000"),
    ],
)
def test_path_in_another_spelling_is_none(path: str) -> None:
    with pytest.raises(TileError, match="no path of a tile"):
        parse_path(path)


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 2000))
def test_what_is_written_on_the_way_is_all_that_a_size_needs(first: int, second: int, third: int) -> None:
    first, second, third = sorted((first, second, third))
    written_so_far = {*tiles_between(0, first), *tiles_between(first, second), *tiles_between(second, third)}
    for size in (first, second, third):
        assert set(tiles_between(0, size)) <= written_so_far


def test_log_that_does_not_grow_writes_nothing_and_none_shrinks() -> None:
    assert list(tiles_between(300, 300)) == []
    for old, new in ((5, 4), (-1, 4), (0, MAX_SIZE + 1)):
        with pytest.raises(TileError, match="does not grow"):
            list(tiles_between(old, new))


@given(st.integers(0, 7), st.integers(0, 10**6), st.integers(0, MAX_SIZE))
def test_width_of_a_tile_is_what_its_level_has_of_hashes(level: int, index: int, size: int) -> None:
    whole = size // 256**level
    assert width_at(level, index, size) == len(range(index * 256, min(whole, index * 256 + 256)))


def test_root_of_a_full_tile_is_its_hash_in_the_tile_above() -> None:
    files = large_files()
    above = read_tile(Tile(1, 0, 256), files["tile/1/000"])
    assert [tile_root(files[Tile(0, index, 256).path]) for index in range(256)] == above


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 1000, 65_535, 65_536, 65_537, LARGE])
def test_proofs_are_made_of_the_tiles_of_a_size_alone(size: int) -> None:
    log = large_log()
    files = written(log, 0, size)
    node = nodes_of(lambda tile: files[tile.path], size)
    head = log.head(size)
    assert root_of(node, size) == head.root
    for index in {0, size // 3, size - 1}:
        verify_inclusion(head, index, log.node(0, index), inclusion_proof(node, index, size))
    for old in {1, size // 2 + 1, size}:
        verify_consistency(log.head(old), head, consistency_proof(node, old, size))


def test_log_grows_by_its_tiles_and_the_new_entries_alone() -> None:
    log = large_log()
    old, new = 65_000, 66_000
    files = written(log, 0, old)
    before = nodes_of(lambda tile: files[tile.path], old)
    growth = sample_log(old).range.append([log.node(0, index) for index in range(old, new)])
    nodes = new_nodes(growth)

    def node(level: int, index: int) -> bytes:
        return nodes.get((level, index)) or before(level, index)

    grown = {place.path: data_at(place, node, lambda a, b: log.entries[a:b]) for place in tiles_between(old, new)}
    assert grown == written(log, old, new)


def test_node_that_a_log_of_this_size_has_not_is_refused() -> None:
    files = large_files()
    node = nodes_of(lambda tile: files[tile.path], LARGE)
    for level, index in ((0, LARGE), (8, 273), (4, LARGE >> 4), (16, 1), (24, 0)):
        with pytest.raises(TileError, match="has no node"):
            node(level, index)


def test_entries_of_a_bundle_read_back() -> None:
    files = large_files()
    bundle = EntryBundle(273, 112)
    entries = check_bundle(bundle, files[bundle.path], files[bundle.tile.path])
    assert entries == large_log().entries[-112:]


def test_entry_may_be_empty_and_as_long_as_its_length_can_say() -> None:
    entries = [b"", b"x" * MAX_ENTRY, b""]
    assert read_bundle(EntryBundle(0, 3), bundle_data(entries)) == entries
    with pytest.raises(TileError, match="entry 1 of a bundle has 65536 bytes, and may have 65535"):
        bundle_data([b"", b"x" * (MAX_ENTRY + 1)])


@pytest.mark.parametrize("width", [1, 111, 113, 256])
def test_tile_or_bundle_of_another_width_than_its_name_is_refused(width: int) -> None:
    with pytest.raises(TileError, match=f"has 3584 bytes, not {width * 32}"):
        read_tile(Tile(0, 273, width), large_files()["tile/0/273.p/112"])
    with pytest.raises(TileError, match=f"has 112 entries, not {width}"):
        read_bundle(EntryBundle(273, width), large_files()["tile/entries/273.p/112"])


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_bundle_that_breaks_off_is_refused(cut: int) -> None:
    data = bundle_data([b"one", b""])
    with pytest.raises(TileError, match=r"breaks off in entry|has 1 entries"):
        read_bundle(EntryBundle(0, 2), data[:-cut])
    with pytest.raises(TileError, match="breaks off in entry 2"):
        read_bundle(EntryBundle(0, 2), data + b"\x00")


def test_bundle_of_other_entries_than_the_tile_says_is_refused() -> None:
    entries = large_log().entries[:TILE_WIDTH]
    swapped = [entries[1], entries[0], *entries[2:]]
    with pytest.raises(TileError, match="tile/entries/000: entry 0 does not give the hash in tile/0/000"):
        check_bundle(EntryBundle(0, TILE_WIDTH), bundle_data(swapped), large_files()["tile/0/000"])


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
