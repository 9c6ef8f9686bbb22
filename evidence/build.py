"""Bundles: seals a dossier, one signed archive whose bytes follow from the dossier and the key alone.

A dossier is everything on record about one finished run, as plain values. What is inconsistent is sealed as it is, for
it is evidence too; whether the evidence holds is for `verify` to say. Only what cannot be written down safely is
refused. An attestation is a statement about a bundle as a file, for the tools of others: a Sigstore bundle that
`cosign` takes.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from typing import Any

from pydantic import ValidationError

from evidence import names
from evidence.errors import EvidenceError
from evidence.log_proofs import LogProof
from evidence.reading.material import Material
from evidence.reading.readme import readme
from evidence.reading.summary import summary
from evidence.reading.timeline import timeline
from evidence.records import RunRecord
from evidence.run_record import costs_member, run_as_told
from evidence.statement import PAYLOAD_TYPE, Predicate, count, make_statement, sha256
from evidence.zipform import ZipFormError, pack
from receipts import canonical
from receipts.chain import DECISION_RECORDED, READ_RECORDED, RECEIPT_WRITTEN, Leaf
from receipts.errors import ReceiptsError
from receipts.signing import SigningKey, sign_envelope

JsonObject = Mapping[str, Any]


@dataclass(frozen=True)
class Dossier:
    """One run's whole story up to the leaf at which it is sealed.

    `decisions` and `approvals` have at least the members of `evidence.records`; `receipts`, `reads` and `leaves` are
    those of `receipts.receipt.Receipt`, `receipts.usage.ReadRecord` and `receipts.chain.Leaf`. `definition` is
    canonical JSON. `policies` maps the digest of a policy to its files.
    """

    definition: bytes
    decisions: Sequence[JsonObject]
    policies: Mapping[str, Mapping[str, str]]
    approvals: Sequence[JsonObject]
    receipts: Sequence[JsonObject]
    reads: Sequence[JsonObject]
    leaves: Sequence[JsonObject]
    log: LogProof | None = None


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
        told = run_as_told(leaves)
        run = RunRecord.model_validate(told)
        members = {names.RUN: canonical.dumps(told), **_members(dossier, leaves)}
        members[names.COSTS] = costs_member((*dossier.reads, *dossier.receipts))
        members |= dossier.log.members() if dossier.log else {}
        members |= _texts(members)
        members[names.README] = readme(run, key.public.key_id)
        statement = _statement(run, key.public.key_id, members)
        members[names.STATEMENT] = sign_envelope(PAYLOAD_TYPE, statement, key)
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


def _statement(run: RunRecord, key_id: str, members: Mapping[str, bytes]) -> bytes:
    """Return the canonical statement about the members."""
    predicate = Predicate(
        run_id=run.run_id,
        tenant=run.tenant,
        definition_digest=run.definition.digest,
        sealed_seq=run.sealed_seq,
        audit_head=run.audit_head,
        counts=count(members),
        key_id=key_id,
    )
    return make_statement(members, predicate)


MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
PREDICATE_TYPE = "urn:countersign:evidence-file:v1"


def file_of(run_id: str, number: int = 1) -> str:
    """Return the name of a run's bundle in the archive; its second has a number, because the first name was taken."""
    return f"{_stem(run_id, number)}.zip"


def attestation_of(run_id: str, number: int = 1) -> str:
    """Return the name under which the statement about it stands beside it."""
    return f"{_stem(run_id, number)}.sigstore.json"


def _stem(run_id: str, number: int) -> str:
    return run_id if number == 1 else f"{run_id}.{number}"


def attest(sealed: Sealed, run_id: str, tenant: str, key: SigningKey, number: int = 1) -> bytes:
    """Return a Sigstore bundle about a sealed bundle; equal input gives equal bytes.

    The signed payload is an in-toto Statement v1 whose subject is the file. There is no certificate and no entry in a
    public log: the verifier has the key from somebody that it trusts, and the hint only names it.
    """
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file_of(run_id, number), "digest": {"sha256": sealed.sha256}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {"run_id": run_id, "tenant": tenant, "size": len(sealed.data), "key_id": key.public.key_id},
    }
    envelope = canonical.loads(sign_envelope(PAYLOAD_TYPE, canonical.dumps(statement), key))
    hint = base64.b64encode(bytes.fromhex(key.public.key_id)).decode()
    return canonical.dumps(
        {
            "mediaType": MEDIA_TYPE,
            "verificationMaterial": {"publicKey": {"hint": hint}},
            "dsseEnvelope": envelope,
        }
    )


def attested(statement: bytes) -> str:
    """Return the SHA-256 of the file that a statement is about, whoever signed it; raise EvidenceError."""
    try:
        payload = canonical.loads(statement)["dsseEnvelope"]["payload"]
        (subject,) = canonical.loads(base64.b64decode(payload))["subject"]
        return str(subject["digest"]["sha256"])
    except (canonical.CanonicalError, LookupError, TypeError, ValueError) as error:
        raise EvidenceError(f"the statement about the bundle is not in its form: {error}") from error
