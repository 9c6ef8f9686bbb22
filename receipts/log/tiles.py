"""Where the tiles of a log stand, and which there are: c2sp.org/tlog-tiles.

A hash tile holds 256 consecutive hashes of a level that is a multiple of 8; an entry bundle holds the 256 entries of a
tile of level 0. The last of each level is partial, and its name says how wide it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from receipts.log.errors import TileError
from receipts.log.hashes import MAX_SIZE

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
