"""Acts about the policy, in the chain of each tenant: which texts decided, versions as proposed, and activations."""

from pydantic import Field

from receipts import canonical
from receipts.acts import Act
from receipts.fields import Identifier, NonEmpty, Sha256Hex


def policy_name(digest: str) -> str:
    """Return what a policy is called there."""
    return f"policy {digest}"


class PolicySeen(Act):
    """A policy decided for the first time; `digest` is that of its text."""

    event = "policy.seen"

    digest: Sha256Hex

    @property
    def once(self) -> str:
        """Return what the policy is called."""
        return policy_name(self.digest)

    @property
    def record(self) -> dict[str, str]:
        """Return the policy's name and digest."""
        return {self.once: self.digest}


class PolicyProposed(Act):
    """A version of the policy was proposed; its activation is signed in `tenant`.

    `digest` is that of its text; the others are the SHA-256 of its signed bundle, of the list of its rules, and of the
    report of its backtest, None where none was made.
    """

    event = "policy.proposed"

    version: int = Field(ge=1)
    digest: Sha256Hex
    bundle: Sha256Hex
    rules: Sha256Hex
    report: Sha256Hex | None
    tenant: NonEmpty
    author: NonEmpty
    comment: str

    @property
    def once(self) -> str:
        """Return what the version is called."""
        return policy_name(f"version {self.version}")

    @property
    def record(self) -> dict[str, str]:
        """Return the version's name and the digest of what the act says."""
        return {self.once: canonical.digest(self.model_dump())}


class PolicyActivated(Act):
    """A version of the policy came into force for all tenants of the database, and `replaces` another one.

    `run_id` is the run that asked policy and people, None for the version that came with the installation.
    """

    event = "policy.activated"

    number: int = Field(ge=1)
    version: int = Field(ge=1)
    replaces: int | None
    by: NonEmpty
    run_id: Identifier | None

    @property
    def once(self) -> str:
        """Return what the activation is called."""
        return policy_name(f"activation {self.number}")

    @property
    def record(self) -> dict[str, str]:
        """Return the activation's name and the digest of what the act says."""
        return {self.once: canonical.digest(self.model_dump())}
