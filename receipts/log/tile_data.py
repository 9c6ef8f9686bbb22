"""What tiles and entry bundles hold, written and read strictly: c2sp.org/tlog-tiles."""

import struct
from collections.abc import Callable, Sequence

from receipts.log.errors import TileError
from receipts.log.hashes import HASH_BYTES, NodeSource, complete_root, hash_leaf
from receipts.log.tiles import TILE_HEIGHT, TILE_WIDTH, EntryBundle, Tile, width_at

MAX_ENTRY = 2**16 - 1
"""Bytes of the largest entry that a bundle can hold."""

EntrySource = Callable[[int, int], Sequence[bytes]]
"""Gives the entries of the log from one index up to, and not with, another."""

TileSource = Callable[[Tile], bytes]
"""Gives the bytes of a tile that the log has."""


def tile_data(tile: Tile, node: NodeSource) -> bytes:
    """Return the hashes of a tile, one behind the other."""
    level, first = tile.level * TILE_HEIGHT, tile.index * TILE_WIDTH
    return b"".join(node(level, first + place) for place in range(tile.width))


def data_at(place: Tile | EntryBundle, node: NodeSource, entries: EntrySource) -> bytes:
    """Return what stands at a place of the log."""
    if isinstance(place, Tile):
        return tile_data(place, node)
    first = place.index * TILE_WIDTH
    return bundle_data(entries(first, first + place.width))


def tile_root(data: bytes) -> bytes:
    """Return the root of a full tile: the hash that stands for it in the tile above."""
    return complete_root(read_tile(Tile(0, 0, TILE_WIDTH), data))


def read_tile(tile: Tile, data: bytes) -> list[bytes]:
    """Return the hashes of a tile, or raise TileError where it is not as wide as its name says."""
    if len(data) != tile.width * HASH_BYTES:
        raise TileError(f"{tile.path} has {len(data)} bytes, not {tile.width * HASH_BYTES}")
    return [data[start : start + HASH_BYTES] for start in range(0, len(data), HASH_BYTES)]


def bundle_data(entries: Sequence[bytes]) -> bytes:
    """Return entries as a bundle holds them: each behind its length, a big-endian number of 16 bits."""
    for place, entry in enumerate(entries):
        if len(entry) > MAX_ENTRY:
            raise TileError(f"entry {place} of a bundle has {len(entry)} bytes, and may have {MAX_ENTRY}")
    return b"".join(struct.pack(">H", len(entry)) + entry for entry in entries)


def read_bundle(bundle: EntryBundle, data: bytes) -> list[bytes]:
    """Return the entries of a bundle, or raise TileError where they are not as many as its name says."""
    entries: list[bytes] = []
    start = 0
    while start < len(data):
        begin = start + 2
        end = begin + int.from_bytes(data[start:begin], "big")
        if end > len(data) or begin > len(data):
            raise TileError(f"{bundle.path} breaks off in entry {len(entries)}")
        entries.append(data[begin:end])
        start = end
    if len(entries) != bundle.width:
        raise TileError(f"{bundle.path} has {len(entries)} entries, not {bundle.width}")
    return entries


def check_bundle(bundle: EntryBundle, data: bytes, tile: bytes) -> list[bytes]:
    """Return the entries of a bundle, or raise TileError unless they are those whose hashes the tile of level 0 has."""
    entries, hashes = read_bundle(bundle, data), read_tile(bundle.tile, tile)
    for place, (entry, wanted) in enumerate(zip(entries, hashes, strict=True)):
        if hash_leaf(entry) != wanted:
            raise TileError(f"{bundle.path}: entry {place} does not give the hash in {bundle.tile.path}")
    return entries


def nodes_of(tiles: TileSource, size: int) -> NodeSource:
    """Return the nodes of a log of `size` leaves, each from the tile that it stands in or is made of.

    A proof that is made of them proves as much as the checkpoint that it is checked against: a wrong tile gives a proof
    that does not hold.
    """

    def node(level: int, index: int) -> bytes:
        tile_level, height = divmod(level, TILE_HEIGHT)
        tile_index, place = divmod(index << height, TILE_WIDTH)
        width = width_at(tile_level, tile_index, size)
        if place + (1 << height) > width:
            raise TileError(f"a log of {size} leaves has no node {index} at level {level}")
        tile = Tile(tile_level, tile_index, width)
        hashes = read_tile(tile, tiles(tile))
        return complete_root(hashes[place : place + (1 << height)])

    return node
