"""What the chain binds since format 2: the run as it is told, the order of time, and what people saw and said."""

from itertools import pairwise
from typing import Any

from evidence import names
from evidence.told import format_of, run_as_told
from evidence.verify.contents import BrokenError, Contents
from receipts import canonical
from receipts.chain import CARD_SHOWN, EVIDENCE_BEGUN, VOTE_COUNTED, Leaf

_SAID = ("status", "votes", "cards")  # the members of an approval that are not what was asked


def check_told(contents: Contents) -> None:
    """Raise unless the bundle is in the format of its chain and, since 2, the run is what its leaves tell."""
    leaves, version = contents.leaves, contents.statement.predicate.builder_version
    if str(format_of(leaves)) != version:
        raise BrokenError(names.STATEMENT, f"is of format {version}, and the chain of format {format_of(leaves)}")
    if version == "1":
        return
    for before, after in pairwise(leaves):
        if after.at < before.at:
            raise BrokenError(names.AUDIT, f"line {after.seq} is earlier than the line before it")
    if leaves[-1].event != EVIDENCE_BEGUN:
        raise BrokenError(names.AUDIT, f"does not end with {EVIDENCE_BEGUN}: its end was cut off")
    if contents.member(names.RUN) != canonical.dumps(run_as_told(leaves)):
        raise BrokenError(names.RUN, f"is not the run that {names.AUDIT} tells")


def check_bound(contents: Contents, name: str, requested: Leaf) -> None:
    """Raise unless the request, each vote and each card of an approval give the digests that the chain has."""
    if contents.statement.predicate.builder_version == "1":
        return
    record: dict[str, Any] = canonical.loads(contents.member(name))
    asked = {member: value for member, value in record.items() if member not in _SAID}
    if canonical.digest(asked) != requested.data.get("asked"):
        raise BrokenError(name, f"what was asked is not what {names.AUDIT} line {requested.seq} binds")
    about = contents.leaves_about.get(str(record["id"]), [])
    votes, cards = _digests(about, VOTE_COUNTED), _digests(about, CARD_SHOWN)
    if sorted(map(canonical.digest, record["votes"])) != sorted(votes):  # two may be of one moment
        raise BrokenError(name, f"its votes are not those that {names.AUDIT} binds")
    if list(map(canonical.digest, record["cards"])) != cards:
        raise BrokenError(name, f"its cards are not those that {names.AUDIT} binds")


def _digests(leaves: list[Leaf], event: str) -> list[str]:
    return [str(leaf.data.get("digest")) for leaf in leaves if leaf.event == event]
