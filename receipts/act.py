"""What all acts of a tenant share."""

from typing import ClassVar

from pydantic import ConfigDict

from receipts.fields import Closed, NonEmpty, Sha256Hex


class Act(Closed):
    """Something that was done. `event` is its name in the log."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    event: ClassVar[str]

    @property
    def once(self) -> str | None:
        """Return what is on record at most once in a tenant's chain, or None where it may be done again."""
        return None

    @property
    def record(self) -> dict[str, str]:
        """Return what the act is about by its name, with the digest that it has from now on; nothing for most acts."""
        return {}


class Allowed(Closed):
    """The decision of policy that allowed an act, or denied it, by OPA's id and the digest of the policy's text."""

    decision_id: NonEmpty
    digest: Sha256Hex
