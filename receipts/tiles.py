"""Tiles of a log: where they stand, which there are, and what they hold (c2sp.org/tlog-tiles).

They are written and read strictly.

A hash tile holds 256 consecutive hashes of a level that is a multiple of 8; an entry bundle holds the 256 entries of a
tile of level 0. The last of each level is partial, and its name says how wide it is.
"""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from receipts.errors import TileError
from receipts.hashes import HASH_BYTES, MAX_SIZE, NodeSource, hash_leaf, rows_over

TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT
_MAX_LEVEL = 63 // TILE_HEIGHT

_PATH = re.compile(
    r"tile/(?P<level>entries|[0-7])/(?P<index>(x[0-9]{3}/){0,6}[0-9]{3})(\.p/(?P<width>[1-9][0-9]{0,2}))?", re.ASCII
)


@dataclass(frozen=True)
class Tile:
    """A tile of hashes. `level` counts in steps of 8 levels of the tree; `width` is 1 to 256 hashes."""

    level: int
    index: int
    width: int

    @property
    def path(self) -> str:
        """Return where it stands below the log's prefix."""
        return f"tile/{self.level}/{_index_path(self.index, self.width)}"


@dataclass(frozen=True)
class EntryBundle:
    """A bundle of entries, `width` of them: 1 to 256."""

    index: int
    width: int

    @property
    def path(self) -> str:
        """Return where it stands below the log's prefix."""
        return f"tile/entries/{_index_path(self.index, self.width)}"

    @property
    def tile(self) -> Tile:
        """Return the tile of the same entries' hashes."""
        return Tile(0, self.index, self.width)


def parse_path(path: str) -> Tile | EntryBundle:
    """Return what stands at a path, or raise TileError where it is no path of a tile in its one spelling."""
    found = _PATH.fullmatch(path)
    if found is None:
        raise TileError(f"no path of a tile: {path[:80]!r}")
    index = int(re.sub("[x/]", "", found["index"]))
    width = int(found["width"] or TILE_WIDTH)
    place = EntryBundle(index, width) if found["level"] == "entries" else Tile(int(found["level"]), index, width)
    if place.path != path:
        raise TileError(f"no path of a tile as it is spelled: {path[:80]!r}")
    return place


def tiles_between(old: int, new: int) -> Iterator[Tile | EntryBundle]:
    """Yield the tiles and bundles that a log of `new` leaves has and one of `old` had not, the lowest level first."""
    if not 0 <= old <= new <= MAX_SIZE:
        raise TileError(f"a log of {old} leaves does not grow to {new}")
    for index, width in _widths(old, new):
        yield EntryBundle(index, width)
    for level in range(_MAX_LEVEL + 1):
        shift = level * TILE_HEIGHT
        for index, width in _widths(old >> shift, new >> shift):
            yield Tile(level, index, width)


def width_at(level: int, index: int, size: int) -> int:
    """Return how wide a tile is in a log of `size` leaves: 0 where there is none."""
    return max(0, min(TILE_WIDTH, (size >> (level * TILE_HEIGHT)) - index * TILE_WIDTH))


def _widths(old: int, new: int) -> Iterator[tuple[int, int]]:
    """Yield index and width of the tiles over `new` hashes of a level that were not there over `old`."""
    if new > old:
        for index in range(old // TILE_WIDTH, new // TILE_WIDTH):
            yield index, TILE_WIDTH
        if new % TILE_WIDTH:
            yield new // TILE_WIDTH, new % TILE_WIDTH


def _index_path(index: int, width: int) -> str:
    """Return an index in groups of three digits, all but the last with an x, and the width where it is partial."""
    last, higher = f"{index % 1000:03}", index // 1000
    groups = [last]
    while higher:
        groups.append(f"x{higher % 1000:03}")
        higher //= 1000
    partial = f".p/{width}" if width < TILE_WIDTH else ""
    return "/".join(reversed(groups)) + partial


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
    return rows_over(read_tile(Tile(0, 0, TILE_WIDTH), data))[-1][0]


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
    rows: dict[Tile, list[list[bytes]]] = {}  # of each tile its hashes, and the nodes over them

    def node(level: int, index: int) -> bytes:
        tile_level, height = divmod(level, TILE_HEIGHT)
        tile_index, place = divmod(index << height, TILE_WIDTH)
        width = width_at(tile_level, tile_index, size)
        if place + (1 << height) > width:
            raise TileError(f"a log of {size} leaves has no node {index} at level {level}")
        tile = Tile(tile_level, tile_index, width)
        if tile not in rows:
            rows[tile] = rows_over(read_tile(tile, tiles(tile)))
        return rows[tile][height][place >> height]

    return node
