"""Passkeys: whose they are, what one of them has signed, and the links by which people come to use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from receipts.passkey_records import Base64Url, rp_id_of

SIGNING_LASTS, INVITATION_LASTS = timedelta(minutes=5), timedelta(days=1)
"""How long a link may be used, to sign and to register."""


class Assertion(BaseModel):
    """What an authenticator has signed, as the browser gives it; `nonce` is that of the link (hex)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    credential_id: Base64Url
    authenticator_data: Base64Url
    client_data: Base64Url
    signature: Base64Url
    nonce: str


class Attestation(BaseModel):
    """What an authenticator says of a passkey that it has made; `nonce` (hex) was its challenge."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    credential_id: Base64Url
    attestation_object: Base64Url
    client_data: Base64Url
    nonce: str


@dataclass(frozen=True)
class Passkey:
    """A passkey of a person. `public_key` is its SubjectPublicKeyInfo, `cose_key` the same as authenticators write it.

    `sign_count` is how often the authenticator had signed when it signed last, 0 where it does not count.
    """

    credential_id: str
    person: str
    public_key: str
    cose_key: bytes
    algorithm: int
    origin: str
    sign_count: int
    invited_by: str
    reason: str
    registered_at: datetime
    revoked_at: datetime | None

    @property
    def rp_id(self) -> str:
        """Return the id of the relying party for which it was made."""
        return rp_id_of(self.origin)

    def said(self) -> dict[str, Any]:
        """Return what is put on record of its registration."""
        names = ("credential_id", "person", "public_key", "algorithm", "origin", "invited_by", "reason")
        return {name: getattr(self, name) for name in names}


Key = tuple[Passkey | None, Sequence[Mapping[str, Any]]]
"""The passkey by which something is signed, None where there is none, and the acts about it, oldest first."""


@dataclass(frozen=True)
class Signature:
    """An assertion that holds, with the acts about its passkey that stand in the tenant's chain, oldest first."""

    assertion: Assertion
    acts: Sequence[Mapping[str, Any]]

    def document(self) -> dict[str, Any]:
        """Return it as it stands on a vote."""
        return {**self.assertion.model_dump(), "acts": [dict(act) for act in self.acts]}


class LinkPurpose(StrEnum):
    """What a link is for."""

    SIGN = "sign"
    REGISTER = "register"


@dataclass(frozen=True)
class Link:
    """A link that one person may use once, before it expires; it is known by the SHA-256 of its token.

    To sign: the approval as they saw it, their reason, the ticket where they use break-glass, and the Slack account
    that asked, or what the console says of the vote (`ConsoleWord`). To register: who invited them, why, and by which
    decision of policy.
    """

    link_id: str  # hex
    person: str
    purpose: LinkPurpose
    nonce: str  # hex
    expires_at: datetime
    approval_id: str | None = None
    stamp: str = ""
    reason: str = ""
    ticket: str = ""
    team: str = ""
    account: str = ""
    invited_by: str = ""
    policy: Mapping[str, Any] | None = None
    console: Mapping[str, Any] | None = None
    opened_at: datetime | None = None
