"""The audit log: a bundle's leaves stand in what was signed of it.

The rules are about the bundle's checkpoint, the witnesses that cosigned it, its proof of inclusion, and its time stamp
(RFC 3161): the leaves existed no later than an authority says. `--checkpoint` compares the log with a checkpoint that
somebody has kept elsewhere, by tiles as they are published in a folder (c2sp.org/tlog-tiles). Whatever those hold, a
proof decides.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from evidence import names
from evidence.errors import UndecidedError
from evidence.log_proofs import check_leaves, read_inclusion
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule, counted, rule
from receipts.chain import EVIDENCE_BEGUN, Leaf
from receipts.checkpoint import Checkpoint, cosignatures, open_checkpoint, parse_checkpoint
from receipts.errors import LogError, ProofError, TileError
from receipts.fields import timestamp
from receipts.hashes import HASH_BYTES, TreeHead
from receipts.note import parse_note
from receipts.proofs import consistency_proof, verify_consistency
from receipts.register import RegisterError, check_signed_at
from receipts.stamp import Authority, StampError, check_about, no_later_than
from receipts.tiles import TILE_WIDTH, Tile, TileSource, nodes_of


def read_checkpoint(contents: Contents) -> Checkpoint:
    """Return the bundle's checkpoint, or raise BrokenError where it has none or one that does not count."""
    log = contents.trust.log
    try:
        note = parse_note(contents.member(names.CHECKPOINT))
        return open_checkpoint(note, log) if log else parse_checkpoint(note.text)
    except LogError as error:
        raise BrokenError(names.CHECKPOINT, str(error)) from error


def checkpoint_of(contents: Contents) -> Checkpoint | None:
    """Return the checkpoint of a bundle, or None where it has none and no key of a log is given."""
    if names.CHECKPOINT not in contents.members and contents.trust.log is None:
        return None
    return read_checkpoint(contents)


@rule(
    "key.counted",
    "Where a register of keys is given, the last leaf's time is one at which the key that signed counted: from its"
    " first day to its last, and before it was revoked.",
)
def key_counted(contents: Contents) -> str:
    """Look the key up in the register."""
    entry = contents.trust.entries.get(contents.key_id)
    if entry is None:
        return "no register"
    try:
        check_signed_at(entry, contents.leaves[-1].at)
    except RegisterError as error:
        raise BrokenError(names.STATEMENT, str(error)) from error
    return f"from {entry.since}" + (f" until {entry.until}" if entry.until else "")


@rule("key.begun", "`evidence.begun` names the key that signed.")
def key_begun(facts: Facts) -> str:
    """Compare the key with the one that the last leaf names."""
    leaf, key_id = facts.leaves[-1], facts.contents.key_id
    if leaf.data.get("key_id") != key_id:
        raise BrokenError(names.STATEMENT, f"is signed by {key_id}, and {EVIDENCE_BEGUN} does not name that key")
    return key_id


@rule(
    "log.signed",
    "`log/checkpoint.txt` is a checkpoint of the tenant's log. Where the log's key is given, it is there, and that key"
    " signed it.",
)
def log_signed(facts: Facts) -> str:
    """Read the checkpoint."""
    checkpoint = checkpoint_of(facts.contents)
    return f"{checkpoint.head.size} leaves" if checkpoint else "no log"


@rule(
    "log.witnessed",
    "As many of the witnesses as are asked for cosigned the checkpoint, and no cosignature of theirs is wrong.",
)
def log_witnessed(facts: Facts) -> str:
    """Count the cosignatures."""
    trust = facts.contents.trust
    if not trust.witnesses:
        return "no witness"
    try:
        found = cosignatures(parse_note(facts.contents.member(names.CHECKPOINT)), trust.witnesses)
    except LogError as error:
        raise BrokenError(names.CHECKPOINT, str(error)) from error
    who = {one.key.name for one in found}
    if len(who) < trust.witnessed:
        raise BrokenError(
            names.CHECKPOINT, f"is cosigned by {len(who)} of the witnesses, and must be by {trust.witnessed}"
        )
    return ", ".join(sorted(who)) or "no witness"


@rule(
    "log.inclusion",
    "`log/inclusion.json` gives each leaf its place, in the order of the chain, and the leaves and its hashes give the"
    " checkpoint's root.",
)
def log_included(facts: Facts) -> str:
    """Derive the root anew."""
    checkpoint = checkpoint_of(facts.contents)
    if checkpoint is None:
        if names.INCLUSION in facts.contents.members:
            raise BrokenError(names.CHECKPOINT, "is not in the bundle")
        return "no log"
    try:
        places, hashes = read_inclusion(facts.contents.member(names.INCLUSION))
        check_leaves(facts.leaves, places, hashes, checkpoint.head)
    except LogError as error:
        raise BrokenError(names.INCLUSION, str(error)) from error
    return counted(len(facts.leaves), "leaf", "leaves")


def log_fact(contents: Contents) -> str:
    """Say in which log the leaves stand, and whether anybody is known to have signed that."""
    checkpoint = checkpoint_of(contents)
    if checkpoint is None:
        return "they stand in no log"
    unsigned = "" if contents.trust.log else ", whose key was not given"
    return f"they stand among the {checkpoint.head.size} leaves of the log {checkpoint.origin}{unsigned}"


RULES = (key_begun, log_signed, log_witnessed, log_included)


CLOCKS = timedelta(hours=1)
"""So much may our clock and an authority's differ."""


@rule(
    "log.stamped",
    "`log/checkpoint.tsr`, where it is there, is a time stamp (RFC 3161) of `log/checkpoint.txt`. Where certificates of"
    " an authority are given, it, or one of a later checkpoint that is given, is by that authority, and not an hour"
    " before the last leaf's `at`.",
)
def stamped(facts: Facts) -> str:
    """Look at the stamps."""
    return stamp_fact(facts.contents)


def stamp_fact(contents: Contents) -> str:
    """Say what a stamp shows; raise BrokenError where there is a wrong one, or none and one is asked for."""
    authority = contents.trust.authority
    if names.STAMP in contents.members:
        data, stamp = contents.member(names.CHECKPOINT), contents.member(names.STAMP)
        try:
            if authority is None:
                check_about(stamp, data)
                return "the time stamp is not checked, without its authority's certificate"
            return dated(contents.leaves[-1], no_later_than(stamp, data, authority))
        except StampError as error:
            raise BrokenError(names.STAMP, str(error)) from error
    return "no time stamp" if authority is None else dated(contents.leaves[-1], _stamped_later(contents, authority))


def _stamped_later(contents: Contents, authority: Authority) -> datetime:
    """Return the earliest moment of which the given stamps of later checkpoints tell."""
    checkpoint, moments, faults = checkpoint_of(contents), [], []
    for later in contents.trust.later:
        if checkpoint is None:
            break
        try:
            later.check_growth(checkpoint, contents.trust.log)
            moments.append(no_later_than(later.stamp, later.checkpoint, authority))
        except (LogError, StampError) as error:
            faults.append(str(error))
    if not moments:
        given = f": {'; '.join(faults)}" if faults else ""
        raise BrokenError(names.STAMP, f"is not in the bundle, and no stamp of a later checkpoint holds for it{given}")
    return min(moments)


def dated(last: Leaf, moment: datetime) -> str:
    """Say since when the leaves exist; raise BrokenError where the last of them says that it was not yet then."""
    if timestamp(moment + CLOCKS) < last.at:
        raise BrokenError(names.STAMP, f"is of {timestamp(moment)}, and the last leaf of {last.at}: that was not yet")
    return f"they existed no later than {timestamp(moment)}, by their time stamp"


KEPT_LOG = "log.kept"
KEPT_LOG_SENTENCE = (
    "The log of `log/checkpoint.txt` and that of each checkpoint that was kept are one: those of one size have one"
    " root; of others, the log's tiles prove that the smaller log is the beginning of the larger."
)


def one_log_with(kept: Sequence[TreeHead], tiles: TileSource | None) -> Rule[Contents]:
    """Return the rule that a bundle's log is the one of these heads. Tiles may be of whoever says that it is."""
    return Rule(KEPT_LOG, KEPT_LOG_SENTENCE, partial(_check_kept, kept, tiles))


def _check_kept(kept: Sequence[TreeHead], tiles: TileSource | None, contents: Contents) -> str:
    head = read_checkpoint(contents).head
    for other in kept:
        older, newer = sorted((head, other), key=lambda one: one.size)
        try:
            verify_consistency(older, newer, _growth_between(older.size, newer.size, tiles))
        except (ProofError, TileError) as error:
            what = f"is not of one log with the checkpoint of {other.size} leaves that was kept: {error}"
            raise BrokenError(names.CHECKPOINT, what) from error
    return f"one log with {counted(len(kept), 'checkpoint')} that {'was' if len(kept) == 1 else 'were'} kept"


def _growth_between(old: int, new: int, tiles: TileSource | None) -> list[bytes]:
    """Return the proof that tiles give; none is needed between logs of one size, and behind an empty one."""
    if old in (0, new):
        return []
    if tiles is None:
        raise UndecidedError(f"logs of {old} and of {new} leaves can be compared only with the log's tiles (--log)")
    return consistency_proof(nodes_of(tiles, new), old, new)


def tiles_in(folder: Path) -> TileSource:
    """Return the tiles in the folder in which `checkpoint` and `tile/` stand; one raises UndecidedError if absent."""
    return partial(_read_tile, folder)


def _read_tile(folder: Path, tile: Tile) -> bytes:
    wanted = tile.width * HASH_BYTES
    for file in _tile_files(folder, tile):
        with suppress(OSError), file.open("rb") as stream:
            if len(data := stream.read(wanted)) == wanted:
                return data
    raise UndecidedError(f"{folder} has no {tile.path}, nor a wider one in its place")


def _tile_files(folder: Path, tile: Tile) -> Iterator[Path]:
    """Yield where the tile's hashes may stand: a log that has grown need not have published each width of a tile."""
    full = folder / replace(tile, width=TILE_WIDTH).path
    yield folder / tile.path
    yield full
    yield from full.with_name(f"{full.name}.p").glob("*")
