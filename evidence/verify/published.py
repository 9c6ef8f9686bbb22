"""The tiles of a log as they are published, in a folder: c2sp.org/tlog-tiles. Whatever they hold, a proof decides."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from evidence.errors import UndecidedError
from receipts.log.hashes import HASH_BYTES
from receipts.log.tile_data import TileSource
from receipts.log.tiles import TILE_WIDTH, Tile


def tiles_in(folder: Path) -> TileSource:
    """Return the tiles in the folder in which `checkpoint` and `tile/` stand; one raises UndecidedError if absent."""
    return partial(_read, folder)


def _read(folder: Path, tile: Tile) -> bytes:
    wanted = tile.width * HASH_BYTES
    for file in _files(folder, tile):
        with suppress(OSError), file.open("rb") as stream:
            if len(data := stream.read(wanted)) == wanted:
                return data
    raise UndecidedError(f"{folder} has no {tile.path}, nor a wider one in its place")


def _files(folder: Path, tile: Tile) -> Iterator[Path]:
    """Yield where the tile's hashes may stand: a log that has grown need not have published each width of a tile."""
    full = folder / replace(tile, width=TILE_WIDTH).path
    yield folder / tile.path
    yield full
    yield from full.with_name(f"{full.name}.p").glob("*")
