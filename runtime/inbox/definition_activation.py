"""Activation and retirement of runbook versions: each becomes a run, whose one effect passes the gate."""

from collections.abc import Sequence
from typing import Any

from runtime.definitions.diff import changes, summary
from runtime.definitions.model import Definition
from runtime.inbox.notification_context import NotificationContext
from runtime.model.commands import ActivatePayload, RetirePayload
from runtime.model.notification import ApplyResult
from runtime.model.runbook_version import RunbookVersion
from runtime.model.states import DEFINITION, DefinitionStatus, NotificationStatus
from runtime.planning.triggers import Trigger, claim_in
from runtime.store.batched_reads import BatchedReads
from runtime.store.definitions import versions_of_runbook

ACTIVATE, RETIRE = ("countersign-activate", 1), ("countersign-retire", 1)
"""The program's own definitions, which every start stores."""

MOST_CHANGES = 200
"""Lines of what changes on a card; all of it is in `countersign definitions diff`."""


async def apply_status_change(matter: NotificationContext, payload: ActivatePayload | RetirePayload) -> ApplyResult:
    """Claim the run that asks policy, and people where policy says so; refuse what cannot be."""
    lives = await versions_of_runbook(matter.conn, matter.notification.tenant, payload.name)
    life = next((one for one in lives if one.version == payload.version), None)
    if life is None:
        return refused(f"there is no {payload.name} version {payload.version}")
    to = DefinitionStatus.ACTIVE if isinstance(payload, ActivatePayload) else DefinitionStatus.RETIRED
    if to not in DEFINITION[life.status]:
        return refused(f"{life} is {life.status}")
    active = [one for one in lives if one.is_active and one != life]
    asked = {
        "name": life.name,
        "version": life.version,
        "digest": life.digest,
        "active": [one.version for one in active],
        "reason": matter.engine.privacy.text(payload.reason),
    }
    if isinstance(payload, ActivatePayload):
        return await claim_own(matter, ACTIVATE, {**asked, **await _what_changes(matter, payload, life, active)})
    return await claim_own(matter, RETIRE, asked)


async def _what_changes(
    matter: NotificationContext, payload: ActivatePayload, life: RunbookVersion, active: Sequence[RunbookVersion]
) -> dict[str, Any]:
    """Return what people who sign have to know: which versions are active then, and what changes against the newest."""
    versions = [one.version for one in active]
    old = await _definition(matter, active[-1]) if active else None
    found = changes(old, await _definition(matter, life))
    return {
        "active": sorted([life.version, *(versions if payload.beside else ())]),
        "in_place_of": [] if payload.beside else versions,
        "changes": "\n".join(summary(found, MOST_CHANGES)),
    }


async def claim_own(matter: NotificationContext, own: tuple[str, int], asked: dict[str, Any]) -> ApplyResult:
    """Claim a run of one of the program's own definitions, for what somebody asks."""
    engine, notification = matter.engine, matter.notification
    definition = await engine.definitions.get(matter.conn, *own)
    trigger = Trigger(
        tenant=notification.tenant,
        type=definition.trigger_type,
        ref=notification.notification_id,
        payload=asked,
        requested_by=notification.actor,
        submitted_by=notification.actor.id,
        request_id=notification.request_id,
    )
    claim = await claim_in(engine, BatchedReads(matter.conn), definition, trigger)
    matter.conn.on_commit(engine.wakeup.poke)
    return ApplyResult(NotificationStatus.APPLIED, {"run_id": claim.run_id})


async def _definition(matter: NotificationContext, life: RunbookVersion) -> Definition:
    return await matter.engine.definitions.get(matter.conn, life.name, life.version)


def refused(reason: str) -> ApplyResult:
    """Return that nothing was done, and why."""
    return ApplyResult(NotificationStatus.REFUSED, {"reason": reason})
