"""The rule about time stamps: the leaves existed no later than an authority says."""

from datetime import datetime, timedelta

from evidence import names
from evidence.verify.checkpoint import checkpoint_of
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import rule
from receipts.chain import Leaf
from receipts.fields import timestamp
from receipts.log.errors import LogError
from receipts.stamp import Authority, StampError, check_about, no_later_than

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
    return told(facts.contents)


def told(contents: Contents) -> str:
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
