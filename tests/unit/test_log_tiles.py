"""A log in tiles: which there are, where they stand, what they hold, and proofs that are made of them alone."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from receipts.errors import TileError
from receipts.log.hashes import MAX_SIZE, root_of
from receipts.log.proofs import consistency_proof, inclusion_proof, verify_consistency, verify_inclusion
from receipts.log.tiles import (
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
from tests.unit.log_sample import LARGE, MemoryLog, large_log, new_nodes, sample_log

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
