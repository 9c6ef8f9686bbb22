"""Seals a dossier: one signed archive whose bytes follow from the dossier and the key alone.

What is inconsistent is sealed as it is, for it is evidence too; whether the evidence holds is for `verify` to say.
Only what cannot be written down safely is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as count_from

from pydantic import ValidationError

from evidence import names
from evidence.costs import costs_member
from evidence.dossier import Dossier, JsonObject
from evidence.errors import EvidenceError
from evidence.reading.first_timeline import first_timeline
from evidence.reading.material import Material
from evidence.reading.readme import readme
from evidence.reading.summary import summary
from evidence.reading.timeline import timeline
from evidence.records import RunRecord
from evidence.run_record import format_of, run_as_told
from evidence.statement import PAYLOAD_TYPE, Predicate, count, make_statement, sha256
from evidence.zipform import ZipFormError, pack
from receipts import canonical
from receipts.chain import DECISION_RECORDED, READ_RECORDED, RECEIPT_WRITTEN, Leaf
from receipts.envelope import sign_envelope
from receipts.errors import ReceiptsError
from receipts.signing import SigningKey

Members = Iterator[tuple[str, bytes]]


class DossierError(EvidenceError):
    """A dossier cannot be written down; the message names the part."""


@dataclass(frozen=True)
class Sealed:
    """A bundle, and the SHA-256 (hex) that stands wherever the bundle is spoken of."""

    data: bytes
    sha256: str


def build(dossier: Dossier, key: SigningKey) -> Sealed:
    """Return the bundle. Equal dossier and key give equal bytes."""
    try:
        leaves = [Leaf.model_validate(dict(leaf)) for leaf in dossier.leaves]
        told = run_as_told(leaves) if dossier.run is None else dict(dossier.run)
        run = RunRecord.model_validate(told)
        version, key_id = format_of(leaves), key.public.key_id
        members = {names.RUN: canonical.dumps(told), **_members(dossier, leaves)}
        if version > 1:
            members[names.COSTS] = costs_member((*dossier.reads, *dossier.receipts))
        members |= dossier.log.members() if dossier.log else {}
        members |= _texts(members) if version > 1 else {names.TIMELINE: first_timeline(run.run_id, leaves)}
        members[names.README] = readme(run, key_id, version)
        statement = _statement(run, version, key_id, members)
        named = key_id if version == 1 else ""
        members[names.STATEMENT] = sign_envelope(PAYLOAD_TYPE, statement, key, keyid=named)
        data = pack(members)
    except (ReceiptsError, ZipFormError, ValidationError, UnicodeEncodeError) as error:
        raise DossierError(f"the dossier cannot be sealed: {error}") from error
    return Sealed(data, sha256(data))


def _texts(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what people read of the other members."""
    material = Material(members)
    return {names.SUMMARY: summary(material), names.TIMELINE: timeline(material)}


def _members(dossier: Dossier, leaves: Sequence[Leaf]) -> dict[str, bytes]:
    """Return the files that hold the dossier, each under a name of its own."""
    members = {
        names.DEFINITION: dossier.definition,
        names.AUDIT: b"".join(canonical.dumps(leaf.model_dump()) + b"\n" for leaf in leaves),
    }
    for part in (
        _in_order(names.DECISIONS, dossier.decisions, "id", _chained(leaves, DECISION_RECORDED, "decision_id")),
        _in_order(names.RECEIPTS, dossier.receipts, "receipt_id", _chained(leaves, RECEIPT_WRITTEN, "receipt_id")),
        _in_order(names.READS, dossier.reads, "read_id", _chained(leaves, READ_RECORDED, "read_id")),
        ((names.approval(_identifier(record, "id")), canonical.dumps(dict(record))) for record in dossier.approvals),
        _policies(dossier.policies),
    ):
        for name, data in part:
            if name in members:
                raise DossierError(f"two records would stand under {name}")
            members[name] = data
    return members


def _in_order(folder: str, records: Sequence[JsonObject], key: str, chained: Mapping[str, int]) -> Members:
    """Return the records, numbered as the chain names them; those that it does not name come last."""
    after = count_from(len(chained) + 1)
    for record in sorted(records, key=lambda record: str(record.get(key))):
        identifier = _identifier(record, key)
        number = chained.get(identifier) or next(after)
        yield names.numbered(folder, number, identifier), canonical.dumps(dict(record))


def _chained(leaves: Sequence[Leaf], event: str, key: str) -> dict[str, int]:
    """Return the identifiers that the leaves of an event name, numbered from 1 in the chain's order."""
    identifiers = [str(leaf.data.get(key)) for leaf in leaves if leaf.event == event]
    return {identifier: number for number, identifier in enumerate(dict.fromkeys(identifiers), start=1)}


def _identifier(record: JsonObject, key: str) -> str:
    """Return a record's identifier, fit for a file name."""
    identifier = record.get(key)
    if not isinstance(identifier, str) or not names.is_identifier(identifier):
        raise DossierError(f"{key} {identifier!r} is not an identifier")
    return identifier


def _policies(policies: Mapping[str, Mapping[str, str]]) -> Members:
    """Return the policy files, each in the folder of its policy's digest."""
    for digest, files in policies.items():
        for file, text in files.items():
            yield f"{names.POLICIES}/{_identifier({'digest': digest}, 'digest')}/{file}", text.encode()


def _statement(run: RunRecord, version: int, key_id: str, members: Mapping[str, bytes]) -> bytes:
    """Return the canonical statement about the members."""
    predicate = Predicate(
        run_id=run.run_id,
        tenant=run.tenant,
        definition_digest=run.definition.digest,
        sealed_seq=run.sealed_seq,
        audit_head=run.audit_head,
        counts=count(members, version),
        builder_version=str(version),
        key_id=None if version == 1 else key_id,
    )
    return make_statement(members, predicate)
