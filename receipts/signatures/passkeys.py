"""What a person signs with a passkey: the challenge of an approval, which no other request has."""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from pydantic import StringConstraints

from receipts import canonical

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


class Emergency(NamedTuple):
    """What somebody signs who breaks the glass: by which ticket, and why, as both stand on record."""

    ticket: str
    reason: str


def signed_document(
    *,
    approval_id: str,
    digest: str,
    stamp: str,
    requirement: Mapping[str, Any],
    verdict: str,
    nonce: str,
    emergency: Emergency | None = None,
) -> dict[str, str]:
    """Return what is signed: the approval as its person saw it, what they say to it, and a nonce of this one time.

    Where they do without the others, it says so (`break_glass` is the ticket), and why.
    """
    alone = {} if emergency is None else {"break_glass": emergency.ticket, "reason": emergency.reason}
    return {
        **alone,
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
