"""What people want of passkeys: to have somebody make one, to be known by it, to be rid of it."""

from typing import Literal

from pydantic import Field

from runtime.model.passkeys import Attestation
from runtime.model.payload import PayloadModel


class InvitePasskeyPayload(PayloadModel):
    """Somebody wants a person to make a passkey; `link_id` is the SHA-256 (hex) of the token that they are sent."""

    kind: Literal["invite_passkey"] = "invite_passkey"
    person: str
    link_id: str = Field(pattern=r"^[0-9a-f]{64}$")
    reason: str = Field(min_length=1)


class RegisterPasskeyPayload(PayloadModel):
    """A person has made a passkey for an origin, by the link that they were sent."""

    kind: Literal["register_passkey"] = "register_passkey"
    link_id: str
    origin: str
    attestation: Attestation


class RevokePasskeyPayload(PayloadModel):
    """Somebody wants a passkey to sign no more."""

    kind: Literal["revoke_passkey"] = "revoke_passkey"
    credential_id: str
    reason: str = Field(min_length=1)


PasskeyCommand = InvitePasskeyPayload | RegisterPasskeyPayload | RevokePasskeyPayload
