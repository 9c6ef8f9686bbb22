"""What people and callers want of a tenant: its definitions, its people, its letters, its bundles."""

from typing import Literal

from pydantic import AwareDatetime, Field

from runtime.model.notification_passkeys import PasskeyCommand
from runtime.model.payload import PayloadModel


class RepairPayload(PayloadModel):
    """Somebody has mended what a stuck bundle is stuck for, and wants it tried anew."""

    kind: Literal["repair"] = "repair"
    run_id: str
    reason: str


class _LetterPayload(PayloadModel):
    letter_id: str  # the id of a notification
    reason: str


class RequeuePayload(_LetterPayload):
    """Somebody wants a dead letter to be looked at again."""

    kind: Literal["requeue"] = "requeue"


class DropPayload(_LetterPayload):
    """Somebody has seen a dead letter, and nothing is to be done about it."""

    kind: Literal["drop"] = "drop"


class DeliveryPayload(PayloadModel):
    """What a subscriber was to be told failed for good. It is a dead letter; requeued, it is sent again."""

    kind: Literal["delivery"] = "delivery"
    run_id: str
    effect_id: str  # of the delivery that failed
    subscription: str


class _LifePayload(PayloadModel):
    name: str
    version: int
    reason: str


class ActivatePayload(_LifePayload):
    """Somebody wants new runs to start with a version, `beside` those that are active or in their place."""

    kind: Literal["activate"] = "activate"
    beside: bool


class RetirePayload(_LifePayload):
    """Somebody wants no new run to start with a version of a runbook."""

    kind: Literal["retire"] = "retire"


class DelegatePayload(PayloadModel):
    """Somebody wants one person to vote for another, from `starts_at` until before `ends_at`.

    `groups` are those in which they do; where none is named, all that the delegator is in when it is recorded.
    """

    kind: Literal["delegate"] = "delegate"
    delegator: str
    delegate: str
    groups: tuple[str, ...]
    starts_at: AwareDatetime
    ends_at: AwareDatetime
    reason: str = Field(min_length=1)


class UndelegatePayload(PayloadModel):
    """Somebody wants a delegation to be over now."""

    kind: Literal["undelegate"] = "undelegate"
    delegation_id: str
    reason: str = Field(min_length=1)


class InstallLinkPayload(PayloadModel):
    """Somebody wants the Slack app to be installed by whoever has a secret, until `expires_at`.

    The secret itself is told to nobody but whoever asked for the link.
    """

    kind: Literal["install_link"] = "install_link"
    secret_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    expires_at: AwareDatetime
    reason: str = Field(min_length=1)


TenantCommand = (
    RepairPayload
    | RequeuePayload
    | DropPayload
    | DeliveryPayload
    | ActivatePayload
    | RetirePayload
    | DelegatePayload
    | UndelegatePayload
    | InstallLinkPayload
    | PasskeyCommand
)
