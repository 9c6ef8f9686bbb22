"""Acts of a tenant: what is done that belongs to no run, each a leaf of the tenant's own chain.

That chain has the form of a run's (`receipts.chain`), with an id that no run has in the place of the run's. A leaf's
`event` says which act it is, its `data` are the act's members, its `actor` is who did it.
"""

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, ValidationError

from receipts.chain import Leaf
from receipts.errors import ReceiptsError
from receipts.fields import Closed, Identifier, NonEmpty, Sha256Hex, Timestamp

_CHAIN = "tenant_"


class ActError(ReceiptsError):
    """A leaf of a tenant's chain tells no act in its form."""


def chain_of(tenant: str) -> str:
    """Return the id of a tenant's own chain: runs have ids that begin with ``run_``."""
    return f"{_CHAIN}{tenant}"


class Act(Closed):
    """Something that was done. `event` is its name in the log."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    event: ClassVar[str]

    @property
    def once(self) -> str | None:
        """Return what is on record at most once in a tenant's chain, or None where it may be done again."""
        return None


class DefinitionStored(Act):
    """A definition came, which never changes; `digest` is that of its canonical form."""

    event = "definition.stored"

    name: NonEmpty
    version: int = Field(ge=1)
    digest: Sha256Hex

    @property
    def once(self) -> str:
        """Return the definition's name and version."""
        return f"{self.event} {self.name} {self.version}"


class PolicySeen(Act):
    """A policy decided for the first time; `digest` is that of its text."""

    event = "policy.seen"

    digest: Sha256Hex

    @property
    def once(self) -> str:
        """Return the policy's digest."""
        return f"{self.event} {self.digest}"


class DirectoryLoaded(Act):
    """A directory took the place of the one before.

    `version` and `digest` are those of its file; `rows` is the digest of the people, agents and accounts that it gave.
    """

    event = "directory.loaded"

    version: int = Field(ge=0)
    digest: Sha256Hex
    rows: Sha256Hex


class _KeyAct(Act):
    """Something is said of a key that seals evidence; `digest` is that of its entry in the register from now on."""

    key_id: Sha256Hex
    digest: Sha256Hex


class KeyRegistered(_KeyAct):
    """A key seals from now on."""

    event = "key.registered"

    @property
    def once(self) -> str:
        """Return the key's id."""
        return f"{self.event} {self.key_id}"


class KeySucceeded(_KeyAct):
    """Another key has followed it."""

    event = "key.succeeded"


class KeyVouched(_KeyAct):
    """A later key vouches for it anew."""

    event = "key.vouched"


class KeyRevoked(_KeyAct):
    """It counts no more."""

    event = "key.revoked"

    why: NonEmpty


class EvidenceExported(Act):
    """Somebody was given the index of a period's runs.

    `since` (in JSON `from`) and `until` bound the period; None where that side is open. `asked` is what else was asked
    for, `rows` how many runs the index has, `sha256` its digest.
    """

    event = "evidence.exported"

    since: Timestamp | None = Field(alias="from")
    until: Timestamp | None
    asked: dict[str, Any]
    rows: int = Field(ge=0)
    sha256: Sha256Hex


class _HoldAct(Act):
    """What happens to a legal hold: on a run by its id, or on all runs with a reference of the business."""

    hold_id: Identifier
    kind: Literal["run", "reference"]
    subject: NonEmpty
    reason: NonEmpty


class HoldSet(_HoldAct):
    """Evidence is kept until the hold is lifted."""

    event = "hold.set"


class HoldLifted(_HoldAct):
    """A hold ended."""

    event = "hold.lifted"


class BundleFetched(Act):
    """Somebody was given the bundle of a run."""

    event = "bundle.fetched"

    run_id: Identifier
    sha256: Sha256Hex


_ACTS: dict[str, type[Act]] = {
    act.event: act
    for act in (
        *(DefinitionStored, PolicySeen, DirectoryLoaded, EvidenceExported, HoldSet, HoldLifted, BundleFetched),
        *(KeyRegistered, KeySucceeded, KeyVouched, KeyRevoked),
    )
}


def act_of(leaf: Leaf) -> Act:
    """Return what a leaf of a tenant's chain tells, or raise ActError."""
    form = _ACTS.get(leaf.event)
    if form is None:
        raise ActError(f"leaf {leaf.seq}: {leaf.event} is no act of a tenant")
    try:
        return form.model_validate(leaf.data)
    except ValidationError as error:
        raise ActError(f"leaf {leaf.seq}: {leaf.event} is not in its form: {' '.join(str(error).split())}") from error
