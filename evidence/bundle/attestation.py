"""A statement about a bundle as a file, for the tools of others: a Sigstore bundle that `cosign` takes."""

import base64

from evidence.bundle.build import Sealed
from evidence.statement import PAYLOAD_TYPE
from receipts import canonical
from receipts.envelope import sign_envelope
from receipts.signing import SigningKey

MEDIA_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
PREDICATE_TYPE = "urn:countersign:evidence-file:v1"


def file_of(run_id: str) -> str:
    """Return the name of a run's bundle in the archive."""
    return f"{run_id}.zip"


def attestation_of(run_id: str) -> str:
    """Return the name under which the statement about it stands beside it."""
    return f"{run_id}.sigstore.json"


def attest(sealed: Sealed, run_id: str, tenant: str, key: SigningKey) -> bytes:
    """Return a Sigstore bundle about a sealed bundle; equal input gives equal bytes.

    The signed payload is an in-toto Statement v1 whose subject is the file. There is no certificate and no entry in a
    public log: the verifier has the key from somebody that it trusts, and the hint only names it.
    """
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file_of(run_id), "digest": {"sha256": sealed.sha256}}],
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
