"""Commands: what people and callers want of a run, of a tenant, or of passkeys.

Of a run: cancel, undo, retry, repair. Of a tenant: its definitions, delegations, dead letters, bundles and the Slack
app. Of passkeys: to invite a person to make one, to register it, to revoke it.
"""

from typing import Any, Literal

from pydantic import AwareDatetime, Field

from runtime.model.passkey import Attestation
from runtime.model.payloads import PayloadModel
from runtime.model.run import RepairAction
from runtime.model.votes import RefusalCode


class CancelPayload(PayloadModel):
    """Somebody wants a run to stop. `version` is that of the run as they saw it, None where they did not look.

    `submitted_by` is the caller that brought it, "" where none did.
    """

    kind: Literal["cancel"] = "cancel"
    run_id: str
    reason: str
    version: int | None = None
    submitted_by: str = ""


class UndoPayload(PayloadModel):
    """Somebody wants what a run did to be taken back: all of it, or one step's. `version` as for a cancel.

    `submitted_by` is the caller that brought it, "" where nobody did but whoever wants it.
    """

    kind: Literal["undo"] = "undo"
    run_id: str
    step: str | None
    reason: str
    version: int | None
    submitted_by: str = ""


class RetryPayload(PayloadModel):
    """Somebody wants what a run has put off to be tried now: all of it, or one effect. `version` as for a cancel."""

    kind: Literal["retry"] = "retry"
    run_id: str
    effect_id: str | None
    reason: str
    version: int | None


class RepairStepPayload(PayloadModel):
    """A person says how a step that needs attention goes on; `result` is what they supply. `version` as for a cancel.

    `submitted_by` is the caller that brought it, or the person.
    """

    kind: Literal["repair_step"] = "repair_step"
    run_id: str
    step: str
    act: RepairAction
    result: Any = None
    reason: str
    version: int | None
    submitted_by: str


UnknownActorAct = RepairAction | Literal["undo", "cancel", "edit", "break_glass"]
"""What the buttons of a step ask for."""


class UnknownActorPayload(PayloadModel):
    """Somebody who is no one person of the directory clicked a button of a step; `code` says why they are none."""

    kind: Literal["unknown_actor"] = "unknown_actor"
    run_id: str
    step: str
    act: UnknownActorAct
    code: RefusalCode


RunCommand = CancelPayload | UndoPayload | RetryPayload | RepairStepPayload | UnknownActorPayload


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


class RetryBundlePayload(PayloadModel):
    """An operator has fixed what a bundle was stuck on, and wants it retried."""

    kind: Literal["retry_bundle"] = "retry_bundle"
    run_id: str
    reason: str


class _DeadLetterPayload(PayloadModel):
    dead_letter_id: str  # the id of a notification
    reason: str


class RequeuePayload(_DeadLetterPayload):
    """Somebody wants a dead letter to be looked at again."""

    kind: Literal["requeue"] = "requeue"


class DropPayload(_DeadLetterPayload):
    """Somebody has seen a dead letter, and nothing is to be done about it."""

    kind: Literal["drop"] = "drop"


class DeliveryPayload(PayloadModel):
    """What a subscriber was to be told failed for good. It is a dead letter; requeued, it is sent again."""

    kind: Literal["delivery"] = "delivery"
    run_id: str
    effect_id: str  # of the delivery that failed
    subscription: str


class _RunbookVersionPayload(PayloadModel):
    name: str
    version: int
    reason: str


class ActivatePayload(_RunbookVersionPayload):
    """Somebody wants new runs to start with a version, `beside` those that are active or in their place."""

    kind: Literal["activate"] = "activate"
    beside: bool


class RetirePayload(_RunbookVersionPayload):
    """Somebody wants no new run to start with a version of a runbook."""

    kind: Literal["retire"] = "retire"


POLICY_ROLLBACK = "countersign-rollback-policy"
"""The program's own runbook whose runs go by the previous policy version."""


class ActivatePolicyPayload(PayloadModel):
    """Somebody wants a version of the policy to come into force."""

    kind: Literal["activate_policy"] = "activate_policy"
    version: int
    reason: str


class RollbackPolicyPayload(PayloadModel):
    """Somebody wants the previous policy version back."""

    kind: Literal["rollback_policy"] = "rollback_policy"
    reason: str


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
    RetryBundlePayload
    | RequeuePayload
    | DropPayload
    | DeliveryPayload
    | ActivatePayload
    | RetirePayload
    | ActivatePolicyPayload
    | RollbackPolicyPayload
    | DelegatePayload
    | UndelegatePayload
    | InstallLinkPayload
    | PasskeyCommand
)
