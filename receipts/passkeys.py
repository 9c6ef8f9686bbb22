"""The acts by which a passkey is somebody's: it is registered once, and revoked at most once."""

from collections.abc import Mapping
from typing import Any, Literal

from receipts import canonical
from receipts.act import Act, Allowed
from receipts.fields import NonEmpty
from receipts.passkey_signatures import Base64Url, Origin


def registration_name(credential_id: str) -> str:
    """Return what the registration of a passkey is called in its tenant's chain."""
    return f"passkey {credential_id}"


def revocation_name(credential_id: str) -> str:
    """Return what its revocation is called there."""
    return f"passkey revoked {credential_id}"


def passkey_record(event: str, said: Mapping[str, Any], by: str) -> dict[str, str]:
    """Return name and digest of a registration, or a revocation; `said` has the members of the act.

    Which decision of policy allowed it is told by the act alone.
    """
    told = {name: value for name, value in said.items() if name != "policy"}
    return {f"{event} {said['credential_id']}": canonical.digest({**told, "by": by})}


class _PasskeyAct(Act):
    """What happens to a passkey of a person; `policy` says by which decision."""

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
