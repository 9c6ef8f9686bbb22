"""The audit chain of a run: each leaf names the hash of the one before it, so that no change goes unseen.

A leaf's hash is SHA-256 over a zero byte and the leaf's canonical JSON without `hash`: the leaf hash of RFC 6962, so
that the same leaves can stand in a Merkle log. A chain alone cannot show that its end was cut off: for that, compare
its head.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import ConfigDict, Field, StringConstraints

from receipts import canonical
from receipts.canonical import built
from receipts.errors import ReceiptsError
from receipts.fields import Exact, Identifier, NonEmpty, Object, Sha256Hex, Timestamp, timestamp

LEAF_PREFIX = b"\x00"

MAX_LEAF = 2**16 - 1
"""Bytes of a leaf: what an entry of a log may have (c2sp.org/tlog-tiles)."""

MAX_LINE = MAX_LEAF + len('"hash":"",') + 64
"""Bytes of a leaf with its `hash`."""

MAX_CARD = 2**20
"""Bytes of a card as it was shown, in canonical form; those that the program makes have no tenth of that."""

EVIDENCE_FORMAT = 1
"""The format of what a run's leaves tell, as the first one says."""

# The events that evidence relies on, and the members that their `data` must have.
RUN_QUEUED = "run.queued"  # format, tenant, submitted_by, definition_digest, definition_name, definition_version,
# ... trigger_type, trigger_ref, requester_name of a person
RUN_ENDED = frozenset({"run.succeeded", "run.failed_terminal", "run.canceled"})  # error, writes
REPAIR_DECIDED = "repair.decided"  # act, reason, policy, and the result (its commitment) of what was supplied
EVIDENCE_BEGUN = "evidence.begun"  # the last leaf of a bundle
RECEIPT_WRITTEN = "receipt.written"  # receipt_id, digest (of the receipt's canonical form)
READ_RECORDED = "read.recorded"  # read_id, digest (of the read record's canonical form)
DECISION_RECORDED = "decision.recorded"  # decision_id, digest (of the decision record's canonical form)
APPROVAL_REQUESTED = "approval.requested"  # approval_id, digest (what it is bound to), requirement
# ... + asked (digest of the request as the bundle has it)
APPROVAL_ENDED = frozenset({"approval.approved", "approval.rejected", "approval.expired", "approval.canceled"})
# ... each of those: approval_id
EFFECT_EDITED = "effect.edited"  # approval_id, person, from, to, digest (of the edit as the bundle has it)
FELL_BACK = "approval.fell_back"  # approval_id, why, to (groups that it went to as well, since others cannot decide)
APPROVAL_HANDED = "approval.handed"  # approval_id, person, to, reason
QUESTION_ASKED = "question.asked"  # approval_id, question_id, person, digest (of the question as the bundle has it)
QUESTION_ANSWERED = "question.answered"  # approval_id, question_id, person who asked, digest (of the answer)
VOTE_RESTORED = "vote.restored"  # approval_id, person: who is in the groups that are asked again
VOTE_WITHDRAWN = "vote.withdrawn"  # approval_id, person, reason, digest (of the vote that counts no more)
VOTE_REFUSED = "vote.refused"  # approval_id, code, verdict, team, user; nth where it stands for those before it
ONE_BY_ONE = 8  # so many refusals of one person for one reason each stand on record; then 16, 32, … do
VOTE_COUNTED = "vote.counted"  # approval_id, person, verdict, digest (of the vote as the bundle has it), opened_at
CARD_SHOWN = "card.shown"  # approval_id, digest (of the card as it was posted or edited)
WAIT_OPENED = "wait.opened"  # wait_id, type, correlation_key, deadline
WAIT_ESCALATED = "wait.escalated"  # wait_id, entry, to; deadline where it moves that
WAIT_ENDED = frozenset({"wait.completed", "wait.timed_out"})  # wait_id


class ChainError(ReceiptsError):
    """The leaves are no unbroken chain; the message names the sequence number and what does not hold."""


class Actor(Exact):
    """Who is behind a state change."""

    id: NonEmpty
    kind: Literal["person", "agent", "schedule", "system"]


class Correlation(Exact):
    """What a leaf is about, beyond its run."""

    request_id: str | None = None
    run_id: str | None = None
    step: str | None = None
    approval_id: str | None = None
    effect_id: str | None = None


class Leaf(Exact):
    """One state change of one run; what it says (`data`) may stand apart, and is then built each time."""

    model_config = ConfigDict(serialize_by_alias=True)

    run_id: Identifier
    seq: int = Field(ge=1)
    prev_hash: Sha256Hex
    hash: Sha256Hex
    at: Timestamp
    event: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$", max_length=128)]
    actor: Actor
    correlation: Correlation
    said: Object = Field(alias="data")  # of JSON: it has a canonical form

    @property
    def data(self) -> dict[str, Any]:
        """Return what it says; never read it in a loop within a loop: it may be built of its bytes each time."""
        value: dict[str, Any] = built(self.said)
        return value


@dataclass(frozen=True)
class Head:
    """The last leaf of a chain."""

    seq: int
    hash: str


class Written(NamedTuple):
    """A leaf that was just made: its JSON but for its hash, the hash, and what it says as that was hashed.

    `said` is all of the JSON that does not follow from the leaf's place in the chain.
    """

    body: Mapping[str, Any]
    hash: str
    said: bytes

    @property
    def head(self) -> Head:
        """Return the end of the chain that it makes."""
        return Head(self.body["seq"], self.hash)

    @property
    def leaf(self) -> Leaf:
        """Return it as whoever reads it finds it."""
        return Leaf.model_validate({**self.body, "hash": self.hash})


GENESIS = Head(0, "0" * 64)

PROGRAM = Actor(id="countersign", kind="system")
"""The program itself. It is never another: leaves are stored without it (`leaf_set`)."""


def next_leaf(
    head: Head,
    *,
    run_id: str,
    at: datetime,
    event: str,
    actor: Actor,
    correlation: Correlation,
    data: Mapping[str, Any],
) -> Written:
    """Return the leaf that follows `head`."""
    body = {
        "run_id": run_id,
        "seq": head.seq + 1,
        "prev_hash": head.hash,
        "at": timestamp(at),
        "event": event,
        "actor": actor.__dict__,
        "correlation": correlation.__dict__,
        "data": dict(data),
    }
    hashed = canonical.dumps(body)
    if len(hashed) > MAX_LEAF:
        raise ChainError(f"a leaf of {event} has {len(hashed)} bytes, and may have {MAX_LEAF}")
    said, _, _ = hashed.rpartition(b',"prev_hash":')  # behind it stand run_id and seq alone
    return Written(body, _hash(hashed), said + b"}")


class LeafSet(NamedTuple):
    """What leaves that follow each other are stored with, once for all: their run, and the first one's place.

    `at` and `request_id` are the first one's, too. `hashes` are those of all, in hexadecimal, one behind the other.
    """

    run_id: str
    first_seq: int
    at: str
    request_id: str | None
    hashes: str


_ABOUT = ("step", "approval_id", "effect_id")
_HASH = 64
"""Characters of a hash."""


def leaf_set(written: Sequence[Written]) -> tuple[LeafSet, str]:
    """Return a transaction's leaves as they are stored: what they have in common, and JSON of what each says beside it.

    A leaf leaves out what is usual as well: members that are null, and the program as the actor.
    """
    first = written[0].body
    hashes = "".join(one.hash for one in written)
    stored = LeafSet(first["run_id"], first["seq"], first["at"], first["correlation"]["request_id"], hashes)
    said = ",".join(_brief(one, stored) for one in written)
    return stored, f"[{said}]"


def _brief(written: Written, stored: LeafSet) -> str:
    """Return what a leaf says beside its set, as JSON that ends with its `data` and `event` as they were hashed."""
    leaf, about = written.body, written.body["correlation"]
    own: dict[str, Any] = {name: about[name] for name in _ABOUT if about[name] is not None}
    if leaf["actor"] != PROGRAM.__dict__:
        own["actor"] = leaf["actor"]
    if about["request_id"] != stored.request_id:
        own["request_id"] = about["request_id"]
    if leaf["at"] != stored.at:  # a deadline moves the moment on
        own["at"] = leaf["at"]
    # no text before it can hold this: a quote inside a text is escaped
    _, mark, said = written.said.decode().partition(',"data":')
    members = orjson.dumps(own).decode()[:-1] + "," if own else "{"
    return members + mark[1:] + said


def leaves_of(stored: LeafSet, said: Iterable[Any]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield sequence number, hash, and what it says, of each leaf; what is in no form gives a leaf that is in none.

    `said` is what was read of the JSON that `leaf_set` gave.
    """
    for number, found in enumerate(said):
        own = found if isinstance(found, dict) else {}
        about = {name: own.get(name) for name in _ABOUT}
        request_id = own.get("request_id", stored.request_id)
        yield (
            stored.first_seq + number,
            stored.hashes[_HASH * number : _HASH * (number + 1)],
            {
                "actor": own.get("actor", PROGRAM.__dict__),
                "at": own.get("at", stored.at),
                "correlation": {**about, "request_id": request_id, "run_id": stored.run_id},
                "data": own.get("data"),
                "event": own.get("event"),
            },
        )


def entry_of(said: bytes, run_id: str, seq: int, prev_hash: str) -> bytes:
    """Return what a leaf's hash was taken of: what it says, as it was written, and its place in the chain."""
    return said[:-1] + f',"prev_hash":"{prev_hash}","run_id":"{run_id}","seq":{seq}}}'.encode()


def in_place(run_id: str, said: Iterable[tuple[int, str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the whole JSON of a run's leaves, of which the sequence number, the hash and what each says are given."""
    leaves, before = [], GENESIS.hash
    for seq, own, leaf in said:
        leaves.append({**leaf, "run_id": run_id, "seq": seq, "prev_hash": before, "hash": own})
        before = own
    return leaves


def verify_chain(leaves: Iterable[Leaf], head: Head | None = None, lines: Iterable[bytes] | None = None) -> Head:
    """Return the end of one run's whole chain, or raise ChainError. `head` is where it must end, if that is known.

    `lines` are the canonical JSON of the leaves, where they were read of that: it is not written again.
    """
    last, run_id = GENESIS, None
    for leaf, line in ((leaf, None) for leaf in leaves) if lines is None else zip(leaves, lines, strict=True):
        run_id = run_id or leaf.run_id
        _check_leaf(leaf, last, run_id, line)
        last = Head(leaf.seq, leaf.hash)
    if head is not None and last != head:
        raise ChainError(f"the chain ends at leaf {last.seq} ({last.hash}), not at leaf {head.seq} ({head.hash})")
    return last


def _check_leaf(leaf: Leaf, last: Head, run_id: str, line: bytes | None) -> None:
    """Raise unless `leaf` is sound in itself and follows `last` in the chain of `run_id`."""
    if leaf.seq != last.seq + 1:
        raise ChainError(f"leaf {last.seq + 1} is missing or out of place: leaf {leaf.seq} stands there")
    if leaf.run_id != run_id or leaf.correlation.run_id not in (None, run_id):
        raise ChainError(f"leaf {leaf.seq} belongs to another run than {run_id}")
    if leaf.prev_hash != last.hash:
        raise ChainError(f"leaf {leaf.seq}: prev_hash is not the hash of leaf {last.seq}")
    if not is_sound(leaf, line):
        raise ChainError(f"leaf {leaf.seq}: its content does not give its hash")


def is_sound(leaf: Leaf, line: bytes | None = None) -> bool:
    """Return whether what a leaf says gives its hash; `line` is its canonical JSON, where it was read of that."""
    if line is None:
        return leaf.hash == _hash(canonical.dumps(leaf.model_dump(exclude={"hash"})))
    if leaf.correlation.model_fields_set != Correlation.model_fields.keys():
        return False  # as it was written it names them all
    said, _, _ = line.rpartition(b',"hash":')  # behind it stand prev_hash, run_id and seq alone
    return leaf.hash == _hash(entry_of(said + b"}", leaf.run_id, leaf.seq, leaf.prev_hash))


def _hash(hashed: bytes) -> str:
    """Return the RFC 6962 leaf hash of the canonical JSON of a leaf without its `hash`."""
    return hashlib.sha256(LEAF_PREFIX + hashed).hexdigest()
