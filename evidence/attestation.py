"""A statement about a bundle as a file, for the tools of others: a Sigstore bundle that `cosign` takes."""

import base64

from evidence.build import Sealed
from evidence.errors import EvidenceError
from evidence.statement import PAYLOAD_TYPE
from receipts import canonical
from receipts.envelope import sign_envelope
from receipts.signing import SigningKey

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
