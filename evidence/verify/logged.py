"""Rules about the log: the leaves stand in what was signed of it."""

from evidence import names
from evidence.inclusion import check_leaves, read_inclusion
from evidence.verify.checkpoint import checkpoint_of
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import counted, rule
from receipts.chain import EVIDENCE_BEGUN
from receipts.log.checkpoint import cosignatures
from receipts.log.errors import LogError
from receipts.log.note import parse_note
from receipts.register import RegisterError, check_signed_at


@rule(
    "key.counted",
    "Where a register of keys is given, the last leaf's time is one at which the key that signed counted: from its"
    " first day to its last, and before it was revoked.",
)
def counted_then(contents: Contents) -> str:
    """Look the key up in the register."""
    entry = contents.trust.entries.get(contents.key_id)
    if entry is None:
        return "no register"
    try:
        check_signed_at(entry, contents.leaves[-1].at)
    except RegisterError as error:
        raise BrokenError(names.STATEMENT, str(error)) from error
    return f"from {entry.since}" + (f" until {entry.until}" if entry.until else "")


@rule("key.begun", "`evidence.begun` names the key that signed, where it names one.")
def begun_with(facts: Facts) -> str:
    """Compare the key with the one that the last leaf names."""
    leaf, key_id = facts.leaves[-1], facts.contents.key_id
    if leaf.data.get("key_id", key_id) != key_id:
        raise BrokenError(names.STATEMENT, f"is signed by {key_id}, and {EVIDENCE_BEGUN} names another key")
    return key_id


@rule(
    "log.signed",
    "`log/checkpoint.txt` is a checkpoint of the tenant's log. Where the log's key is given, it is there, and that key"
    " signed it.",
)
def signed(facts: Facts) -> str:
    """Read the checkpoint."""
    checkpoint = checkpoint_of(facts.contents)
    return f"{checkpoint.head.size} leaves" if checkpoint else "no log"


@rule(
    "log.witnessed",
    "As many of the witnesses as are asked for cosigned the checkpoint, and no cosignature of theirs is wrong.",
)
def witnessed(facts: Facts) -> str:
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
def included(facts: Facts) -> str:
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


def told(contents: Contents) -> str:
    """Say in which log the leaves stand, and whether anybody is known to have signed that."""
    checkpoint = checkpoint_of(contents)
    if checkpoint is None:
        return "they stand in no log"
    unsigned = "" if contents.trust.log else ", whose key was not given"
    return f"they stand among the {checkpoint.head.size} leaves of the log {checkpoint.origin}{unsigned}"


RULES = (begun_with, signed, witnessed, included)
