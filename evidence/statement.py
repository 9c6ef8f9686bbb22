"""What is signed: an in-toto Statement v1 that names every other member of the bundle with its SHA-256."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import ConfigDict, Field

from evidence import names
from receipts import canonical
from receipts.fields import Exact, Identifier, NonEmpty, Sha256Hex

PAYLOAD_TYPE = "application/vnd.in-toto+json"

_EARLIER = re.compile(rb'"predicateType":"urn:countersign:evidence-(bundle|export):v([0-9]{1,9})"')
"""The types of statements before release 0.2.0; within a text, the quotation marks would be escaped."""

_SUBJECT = 100
"""Bytes of a subject beside its name."""
_ELSE = 1 << 16
"""Bytes that a statement, or its envelope, has beside its subjects, at most."""


class Digests(Exact):
    """The digests of one subject."""

    sha256: Sha256Hex


class Subject(Exact):
    """One member."""

    name: NonEmpty
    digest: Digests


class Counts(Exact):
    """How many files the folders hold."""

    decisions: int
    policies: int
    approvals: int
    receipts: int
    reads: int


class Predicate(Exact):
    """What the bundle is about, in the few facts that everything else hangs on."""

    run_id: Identifier
    tenant: NonEmpty
    definition_digest: Sha256Hex
    sealed_seq: int = Field(ge=1)
    audit_head: Sha256Hex
    counts: Counts
    key_id: Sha256Hex  # of the key that signed


class Statement(Exact):
    """The whole statement."""

    model_config = ConfigDict(serialize_by_alias=True)

    statement_type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[Subject]
    predicate_type: Literal["urn:countersign:run-evidence:v1"] = Field(alias="predicateType")
    predicate: Predicate


def sha256(data: bytes) -> str:
    """Return the SHA-256 in lowercase hex."""
    return hashlib.sha256(data).hexdigest()


def written_before_release(payload: bytes) -> str:
    """Return what is said of a bundle's or an export's statement of before release 0.2.0; "" of another."""
    found = _EARLIER.search(payload)
    if found is None:
        return ""
    what, number = (part.decode() for part in found.groups())
    return f"this {what} was written before release 0.2.0 (format {number}); this program does not read it"


def make_statement(members: Mapping[str, bytes], predicate: Predicate) -> bytes:
    """Return the canonical statement about these members, in order of name."""
    statement = Statement(
        _type="https://in-toto.io/Statement/v1",
        subject=[Subject(name=name, digest=Digests(sha256=sha256(data))) for name, data in sorted(members.items())],
        predicateType="urn:countersign:run-evidence:v1",
        predicate=predicate,
    )
    return canonical.dumps(statement.model_dump())


def largest(member_names: Iterable[str]) -> int:
    """Return how many bytes the envelope of a statement about these members can have."""
    payload = sum(_SUBJECT + len(name) for name in member_names) + _ELSE
    return payload * 4 // 3 + _ELSE


def count(member_names: Iterable[str]) -> Counts:
    """Count the files of each folder."""
    folders = [name.partition("/")[0] for name in member_names if "/" in name]
    return Counts(
        decisions=folders.count(names.DECISIONS),
        policies=folders.count(names.POLICIES),
        approvals=folders.count(names.APPROVALS),
        receipts=folders.count(names.RECEIPTS),
        reads=folders.count(names.READS),
    )
