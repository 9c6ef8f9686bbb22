"""Operators' acts: what they want done is recorded in the inbox, where workers find it."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.clock import Clock
from runtime.engine import new_id
from runtime.failpoints import Point, at
from runtime.model.commands import (
    ActivatePayload,
    ActivatePolicyPayload,
    CancelPayload,
    DelegatePayload,
    DropPayload,
    InstallLinkPayload,
    InvitePasskeyPayload,
    RepairStepPayload,
    RequeuePayload,
    RetirePayload,
    RetryBundlePayload,
    RetryPayload,
    RevokePasskeyPayload,
    RollbackPolicyPayload,
    UndelegatePayload,
    UndoPayload,
)
from runtime.model.notification import Command, Notification
from runtime.model.payloads import ClaimPayload, SignalPayload, VotePayload
from runtime.model.run import RepairAction
from runtime.model.search import UnknownError
from runtime.model.votes import Via
from runtime.model.wait import signal_key
from runtime.services.people import person_of
from runtime.services.review_answers import ReviewAnswer, answer_payload
from runtime.store import effects, notifications
from runtime.store.database.pool import Pool
from runtime.store.database.signals import announce
from runtime.store.step_repairs import find_step

Word = SignalPayload | VotePayload | ClaimPayload

PAUSE = 0.1

_EFFECT = "eff_"


class UnknownEffectError(UnknownError):
    """There is no such effect."""


class UnknownStepError(UnknownError):
    """There is no such step."""


@dataclass(frozen=True)
class StepRepair:
    """How a person repairs a step; `result` is what they supply, `version` the step's as they saw it."""

    run_id: str
    step: str
    act: RepairAction
    reason: str
    result: Any = None
    version: int | None = None


@dataclass(frozen=True)
class OperatorService:
    """Records what operators want done. It needs the database alone; `by` is always a person of the directory.

    Each act returns the id of its notification. `version` is that of the run as the person saw it: if the run has moved
    on since, nothing is done. None is for whoever did not look. With a key (`once`) an act that is recorded before is
    not recorded again: its id is returned.
    """

    pool: Pool
    clock: Clock
    tenant: str
    once: str = ""

    async def cancel(self, by: str, run_id: str, reason: str, version: int | None) -> str:
        """Ask for a run to stop."""
        return await self._record(by, run_id, CancelPayload(run_id=run_id, reason=reason, version=version))

    async def undo(self, by: str, run_id: str, step: str | None, reason: str, version: int | None) -> str:
        """Ask for what a run did to be taken back, or what one step of it did."""
        return await self._record(by, run_id, UndoPayload(run_id=run_id, step=step, reason=reason, version=version))

    async def retry(self, by: str, subject: str, reason: str, version: int | None) -> str:
        """Ask for what a run has put off, or one effect, to be tried now; raise UnknownEffectError."""
        run_id, effect_id = subject, None
        if subject.startswith(_EFFECT):
            run_id, effect_id = await self._run_of(subject), subject
        payload = RetryPayload(run_id=run_id, effect_id=effect_id, reason=reason, version=version)
        return await self._record(by, run_id, payload)

    async def repair_step(self, by: str, repair: StepRepair) -> str:
        """Say how a step that needs attention goes on; raise UnknownStepError."""
        async with self.pool.connection() as conn:
            step = await find_step(conn, self.tenant, repair.run_id, repair.step)
        if step is None:
            raise UnknownStepError(f"there is no step {repair.step} of a run {repair.run_id}")
        return await self._record(by, repair.run_id, RepairStepPayload(**vars(repair), submitted_by=by))

    async def retry_bundle(self, by: str, run_id: str, reason: str) -> str:
        """Ask for the stuck bundle of a run to be retried."""
        return await self._record(by, run_id, RetryBundlePayload(run_id=run_id, reason=reason))

    async def signal(self, by: str, run_id: str, name: str, data: Mapping[str, Any]) -> str:
        """Send a signal to a run: what waits for it by this name goes on with the data."""
        return await self._record(
            by, signal_key(run_id, name), SignalPayload(run_id=run_id, name=name, data=dict(data))
        )

    async def say(self, said: ReviewAnswer) -> str:
        """Answer a review, take it on or give it back, by the rules by which it is done in Slack."""
        return await self._record(said.person, f"approval:{said.task_id}", answer_payload(said, Via.COMMAND))

    async def requeue(self, by: str, dead_letter_id: str, reason: str) -> str:
        """Ask for a dead letter to be looked at again."""
        return await self._record(by, dead_letter_id, RequeuePayload(dead_letter_id=dead_letter_id, reason=reason))

    async def drop(self, by: str, dead_letter_id: str, reason: str) -> str:
        """Put a dead letter away."""
        return await self._record(by, dead_letter_id, DropPayload(dead_letter_id=dead_letter_id, reason=reason))

    async def activate(self, by: str, name: str, version: int, reason: str, *, beside: bool) -> str:
        """Ask for new runs to start with a version of a runbook."""
        return await self._record(by, name, ActivatePayload(name=name, version=version, reason=reason, beside=beside))

    async def retire(self, by: str, name: str, version: int, reason: str) -> str:
        """Ask for no new run to start with a version of a runbook."""
        return await self._record(by, name, RetirePayload(name=name, version=version, reason=reason))

    async def activate_policy(self, by: str, version: int, reason: str) -> str:
        """Ask for a version of the policy to come into force."""
        payload = ActivatePolicyPayload(version=version, reason=reason)
        return await self._record(by, f"policy:{version}", payload)

    async def rollback_policy(self, by: str, reason: str) -> str:
        """Ask for the previous policy version."""
        return await self._record(by, "policy", RollbackPolicyPayload(reason=reason))

    async def delegate(self, by: str, wish: DelegatePayload) -> str:
        """Ask for one person to vote for another for some time."""
        return await self._record(by, wish.delegator, wish)

    async def undelegate(self, by: str, delegation_id: str, reason: str) -> str:
        """Ask for a delegation to be over now."""
        return await self._record(by, delegation_id, UndelegatePayload(delegation_id=delegation_id, reason=reason))

    async def install_link(self, by: str, wish: InstallLinkPayload) -> str:
        """Ask for leave to install the Slack app in a workspace."""
        return await self._record(by, wish.secret_sha256, wish)

    async def invite_passkey(self, by: str, person: str, link_id: str, reason: str) -> str:
        """Ask for a person to register a passkey, by the link whose token has this SHA-256 (hex)."""
        payload = InvitePasskeyPayload(person=person, link_id=link_id, reason=reason)
        return await self._record(by, person, payload)

    async def revoke_passkey(self, by: str, credential_id: str, reason: str) -> str:
        """Ask for a passkey to sign no more."""
        payload = RevokePasskeyPayload(credential_id=credential_id, reason=reason)
        return await self._record(by, credential_id, payload)

    async def outcome(self, notification_id: str, patience: float) -> Mapping[str, Any] | None:
        """Return the facts of what became of it, or None if no worker has applied it within `patience` seconds."""
        until = time.monotonic() + patience
        while True:
            async with self.pool.connection() as conn:
                facts = await notifications.outcome_of(conn, notification_id)
            if facts is not None or time.monotonic() >= until:
                return facts
            await asyncio.sleep(PAUSE)

    async def _run_of(self, effect_id: str) -> str:
        async with self.pool.connection() as conn:
            try:
                return await effects.run_of(conn, self.tenant, effect_id)
            except LookupError as error:
                raise UnknownEffectError(f"there is no effect {effect_id}") from error

    async def _record(self, by: str, subject: str, payload: Command | Word) -> str:
        async with self.pool.connection() as conn:
            actor = await person_of(conn, self.tenant, by)
            notification = Notification(
                notification_id=new_id("ntf"),
                tenant=self.tenant,
                dedupe_key=self.once or new_id(payload.kind),
                correlation_key=subject,
                payload=payload,
                actor=actor,
                request_id=new_id("req"),
            )
            at(Point.NOTIFICATION_RECORDING)
            notification_id = await notifications.record(conn, notification, self.clock())
            at(Point.NOTIFICATION_RECORDED)
            await announce(conn, "operator")
        return notification_id
