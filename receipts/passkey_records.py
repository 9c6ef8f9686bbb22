"""Passkey records: what a person signs with a passkey, the challenge of an approval, which no other request has.

By acts a passkey is somebody's: it is registered once, and revoked at most once.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import StringConstraints

from receipts import canonical
from receipts.acts import Act, Allowed
from receipts.fields import NonEmpty

PASSKEY: Final = "passkey"
"""How a requirement wants approvals to be signed (`sign_with`), and how policy is told that one was."""

ORIGIN = r"^(?:https://([a-z0-9.-]+)|http://(localhost))(?::[0-9]{1,5})?$"
"""Where browsers let passkeys be used; the host is the id of the relying party."""

Origin = Annotated[str, StringConstraints(pattern=ORIGIN)]
Base64Url = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,20000}$")]
"""Bytes in base64url without padding, as WebAuthn writes them."""


def rp_id_of(origin: str) -> str:
    """Return the id of the relying party: the host of its origin; "" where that is none."""
    found = re.match(ORIGIN, origin)
    return next(filter(None, found.groups())) if found else ""


def from_base64url(text: str) -> bytes:
    """Decode base64url in its one spelling without padding, or raise ValueError."""
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        raise ValueError("not base64url in its one spelling")
    return data


class SignedWords(NamedTuple):
    """What a person says with a vote, as it stands on record: their printed name, why, and the ticket of an emergency.

    The ticket is "" where break-glass is not used.
    """

    person_name: str
    reason: str
    ticket: str = ""


def signed_document(
    *,
    approval_id: str,
    digest: str,
    stamp: str,
    requirement: Mapping[str, Any],
    verdict: str,
    nonce: str,
    said: SignedWords,
) -> dict[str, str]:
    """Return what is signed: the approval as its person saw it, what they say to it and why, and a nonce of one time.

    Their name is in it as it is printed. Where they do without the others, `break_glass` is the ticket.
    """
    alone = {"break_glass": said.ticket} if said.ticket else {}
    return {
        **alone,
        "person_name": said.person_name,
        "reason": said.reason,
        "approval_id": approval_id,
        "digest": digest,
        "stamp": stamp,
        "requirement": canonical.digest(dict(requirement)),
        "verdict": verdict,
        "nonce": nonce,
    }


def challenge_of(document: Mapping[str, str]) -> bytes:
    """Return the challenge for it: the SHA-256 of its canonical form."""
    return hashlib.sha256(canonical.dumps(dict(document))).digest()


def registration_name(credential_id: str) -> str:
    """Return what the registration of a passkey is called in its tenant's chain."""
    return f"passkey {credential_id}"


def revocation_name(credential_id: str) -> str:
    """Return what its revocation is called there."""
    return f"passkey revoked {credential_id}"


class _PasskeyAct(Act):
    """What happens to a passkey of a person; `policy` says by which decision."""

    named_by = "credential_id"

    credential_id: Base64Url
    person: NonEmpty
    reason: NonEmpty
    policy: Allowed


class PasskeyRegistered(_PasskeyAct):
    """A person has a passkey from now on, on the invitation of another.

    `public_key` is a SubjectPublicKeyInfo (DER), `algorithm` its COSE number, `origin` the one for which it was made,
    whose host is the id of the relying party.
    """

    event = "passkey.registered"

    public_key: Base64Url
    algorithm: Literal[-7, -8, -257]
    origin: Origin
    invited_by: NonEmpty

    @property
    def once(self) -> str:
        """Return the passkey."""
        return registration_name(self.credential_id)


class PasskeyRevoked(_PasskeyAct):
    """It signs no more; what it has signed stays."""

    event = "passkey.revoked"

    @property
    def once(self) -> str:
        """Return the passkey's revocation."""
        return revocation_name(self.credential_id)
