"""`--checkpoint`: whether the log of a bundle is the one of which somebody has kept a checkpoint elsewhere."""

from collections.abc import Sequence
from functools import partial

from evidence import names
from evidence.errors import UndecidedError
from evidence.verify.checkpoint import read_checkpoint
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.rules import Rule, counted
from receipts.log.errors import ProofError, TileError
from receipts.log.hashes import TreeHead
from receipts.log.proofs import consistency_proof, verify_consistency
from receipts.log.tile_data import TileSource, nodes_of

NAME = "log.kept"
SENTENCE = (
    "The log of `log/checkpoint.txt` and that of each checkpoint that was kept are one: those of one size have one"
    " root; of others, the log's tiles prove that the smaller log is the beginning of the larger."
)


def one_log_with(kept: Sequence[TreeHead], tiles: TileSource | None) -> Rule[Contents]:
    """Return the rule that a bundle's log is the one of these heads. Tiles may be of whoever says that it is."""
    return Rule(NAME, SENTENCE, partial(_check, kept, tiles))


def _check(kept: Sequence[TreeHead], tiles: TileSource | None, contents: Contents) -> str:
    head = read_checkpoint(contents).head
    for other in kept:
        older, newer = sorted((head, other), key=lambda one: one.size)
        try:
            verify_consistency(older, newer, _proof(older.size, newer.size, tiles))
        except (ProofError, TileError) as error:
            what = f"is not of one log with the checkpoint of {other.size} leaves that was kept: {error}"
            raise BrokenError(names.CHECKPOINT, what) from error
    return f"one log with {counted(len(kept), 'checkpoint')} that {'was' if len(kept) == 1 else 'were'} kept"


def _proof(old: int, new: int, tiles: TileSource | None) -> list[bytes]:
    """Return the proof that tiles give; none is needed between logs of one size, and behind an empty one."""
    if old in (0, new):
        return []
    if tiles is None:
        raise UndecidedError(f"logs of {old} and of {new} leaves can be compared only with the log's tiles (--log)")
    return consistency_proof(nodes_of(tiles, new), old, new)
