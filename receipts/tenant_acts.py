"""Acts of a tenant: what is done that belongs to no run, each a leaf of the tenant's own chain.

That chain has the form of a run's (`receipts.chain`), with an id that no run has in the place of the run's. A leaf's
`event` says which act it is, its `data` are the act's members, its `actor` is who did it.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from receipts import canonical
from receipts.acts import (
    Act,
    Allowed,
    CommandRefused,
    DelegationRefused,
    FormRefused,
    RequestRefused,
    RoutingLoaded,
    SignInRefused,
    SlackInstalled,
    SlackLinkMade,
    SlackMemberChanged,
    SlackRekeyed,
    SlackRemoved,
    SubscriptionsLoaded,
    act_record,
)
from receipts.chain import Leaf
from receipts.console_acts import AccountLinked, ActsAsked, SessionsEnded
from receipts.errors import ReceiptsError
from receipts.fields import Exact, Identifier, NonEmpty, Sha256Hex, Timestamp
from receipts.list_acts import RunListDeleted, RunListSaved
from receipts.passkey_records import PasskeyRegistered, PasskeyRevoked
from receipts.policy_acts import PolicyActivated, PolicyProposed, PolicySeen

_CHAIN = "tenant_"


class ActError(ReceiptsError):
    """A leaf of a tenant's chain tells no act in its form."""


def chain_of(tenant: str) -> str:
    """Return the id of a tenant's own chain: runs have ids that begin with ``run_``."""
    return f"{_CHAIN}{tenant}"


def definition_name(name: str, version: int) -> str:
    """Return what a definition is called where it is said which record an act is about."""
    return f"definition {name} version {version}"


def life_record(event: str, said: Mapping[str, Any], by: str) -> dict[str, str]:
    """Return name and digest of where a version stands since an act; `said` has the members of the act."""
    name = f"life of {definition_name(said['name'], said['version'])}"
    return {name: canonical.digest({"event": event, "by": by, **said})}


def key_name(key_id: str) -> str:
    """Return what the entry of a key is called there."""
    return f"key {key_id}"


def directory_record(said: Mapping[str, Any]) -> dict[str, str]:
    """Return name and digest of the directory that is loaded; `said` has the members of `DirectoryLoaded`."""
    return {"directory": canonical.digest(dict(said))}


def delegation_name(delegation_id: str) -> str:
    """Return what the act that records a delegation is called in its tenant's chain."""
    return f"delegation {delegation_id}"


class DefinitionStored(Act):
    """A definition came, which never changes; `digest` is that of its canonical form."""

    event = "definition.stored"

    name: NonEmpty
    version: int = Field(ge=1)
    digest: Sha256Hex

    @property
    def once(self) -> str:
        """Return what the definition is called."""
        return definition_name(self.name, self.version)

    @property
    def record(self) -> dict[str, str]:
        """Return the definition's name and digest."""
        return {self.once: self.digest}


class _LifeAct(Act):
    """A version of a definition has moved. `run_id` is of the run that asked for it, None where a start did it."""

    name: NonEmpty
    version: int = Field(ge=1)
    digest: Sha256Hex
    run_id: Identifier | None


class DefinitionActivated(_LifeAct):
    """New runs may start with the version."""

    event = "definition.activated"


class DefinitionRetired(_LifeAct):
    """No new run starts with the version; those that there are go on."""

    event = "definition.retired"


class DirectoryLoaded(Act):
    """A directory took the place of the one before.

    `version` and `digest` are those of its file; `rows` is the digest of the people, agents and accounts that it gave.
    """

    event = "directory.loaded"

    version: int = Field(ge=0)
    digest: Sha256Hex
    rows: Sha256Hex

    @property
    def record(self) -> dict[str, str]:
        """Return the digest of what the act says: the last one holds."""
        return directory_record(self.model_dump())


class GroupChange(Exact):
    """Who came into a group, and who left it, since they did in its Slack user group; ids of people, sorted."""

    group: NonEmpty
    usergroup: NonEmpty
    joined: list[NonEmpty]
    left: list[NonEmpty]


class DirectoryRefreshed(Act):
    """What Slack says of user groups changed who is in groups of the directory.

    `version` and `digest` are those of the directory's file, `rows` is the digest of what it gives from now on.
    `linked` and `unlinked` are accounts (team, user, person) that an address tells from now on, or no more.
    """

    event = "directory.refreshed"

    version: int = Field(ge=0)
    digest: Sha256Hex
    rows: Sha256Hex
    groups: list[GroupChange]
    linked: list[list[NonEmpty]]
    unlinked: list[list[NonEmpty]]

    @property
    def record(self) -> dict[str, str]:
        """Return the digest of the directory as it is from now on: the last one holds."""
        return directory_record(self.model_dump(include={"version", "digest", "rows"}))


class _KeyAct(Act):
    """Something is said of a key that seals evidence; `digest` is that of its entry in the register from now on."""

    key_id: Sha256Hex
    digest: Sha256Hex

    @property
    def record(self) -> dict[str, str]:
        """Return the key's name and the digest of its entry: the last one holds."""
        return {key_name(self.key_id): self.digest}


class KeyRegistered(_KeyAct):
    """A key seals from now on."""

    event = "key.registered"

    @property
    def once(self) -> str:
        """Return what the key is called."""
        return key_name(self.key_id)


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


class LogKeySeen(Act):
    """A key signs the log for the first time; `key` is its verifier key as text (vkey)."""

    event = "log_key.seen"

    key: NonEmpty

    @property
    def once(self) -> str:
        """Return the key."""
        return f"log key {self.key}"


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

    named_by = "hold_id"

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


class _DelegationAct(Act):
    """What happens to a delegation; `policy` says by which decision."""

    named_by = "delegation_id"

    delegation_id: Identifier
    reason: NonEmpty
    policy: Allowed


class DelegationRecorded(_DelegationAct):
    """From `starts_at` until before `ends_at` the delegate votes for the delegator, in these groups of theirs."""

    event = "delegation.recorded"

    delegator: NonEmpty
    delegate: NonEmpty
    groups: list[NonEmpty] = Field(min_length=1)
    starts_at: Timestamp
    ends_at: Timestamp

    @property
    def once(self) -> str:
        """Return the delegation."""
        return delegation_name(self.delegation_id)


class DelegationEnded(_DelegationAct):
    """A delegation is over, before its time."""

    event = "delegation.ended"


class BundleFetched(Act):
    """Somebody was given the bundle of a run."""

    event = "bundle.fetched"

    run_id: Identifier
    sha256: Sha256Hex


_ACTS: dict[str, type[Act]] = {
    act.event: act
    for act in (
        *(DefinitionActivated, DefinitionRetired, DelegationRecorded, DelegationEnded, DelegationRefused),
        *(DefinitionStored, PolicySeen, PolicyProposed, PolicyActivated),
        *(DirectoryLoaded, EvidenceExported, HoldSet, HoldLifted, BundleFetched, RunListSaved, RunListDeleted),
        *(CommandRefused, RequestRefused, DirectoryRefreshed, RoutingLoaded, SubscriptionsLoaded),
        *(SlackLinkMade, SlackInstalled, SlackRemoved, SlackMemberChanged, SlackRekeyed),
        *(PasskeyRegistered, PasskeyRevoked, AccountLinked, ActsAsked, FormRefused, SessionsEnded, SignInRefused),
        *(KeyRegistered, KeySucceeded, KeyVouched, KeyRevoked, LogKeySeen),
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


def record_of(leaf: Leaf) -> dict[str, str]:
    """Return what a leaf's act is about by its name, with the digest that it has from now on; or raise ActError."""
    act = act_of(leaf)
    if act.named_by:
        return act_record(type(act), act.model_dump(), leaf.actor.id)
    if isinstance(act, _LifeAct):
        return life_record(act.event, act.model_dump(), leaf.actor.id)
    return act.record
