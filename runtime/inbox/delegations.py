"""Who votes for whom: recorded, or ended before its time, by a person whom policy lets, and put on record."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from policy.model import DelegationInput, OperatorQuestion, Ruling
from receipts.act import Allowed
from receipts.fields import timestamp
from receipts.refused import DelegationRefused
from receipts.tenant_acts import DelegationEnded, DelegationRecorded
from runtime.approvals.fulfilling import asked_groups, left, refuse_short
from runtime.engine import Engine
from runtime.inbox.delegation_notices import tell_of_delegation
from runtime.inbox.matter import Matter
from runtime.inbox.operator_acts import actor_of, denial, policy_of
from runtime.model.delegation import Delegation
from runtime.model.notification import Addressed, Applied, Judged
from runtime.model.states import NotificationStatus
from runtime.model.tenant_payloads import DelegatePayload, UndelegatePayload
from runtime.store import delegations, directory
from runtime.store.open_requests import open_in_groups
from runtime.store.reaching import asked_in
from runtime.store.tenant_acts import put_act


async def ruled_on_delegation(
    engine: Engine, found: Addressed, payload: DelegatePayload | UndelegatePayload
) -> Addressed:
    """Return a notification with what policy says of it; raise PolicyUnavailableError."""
    said: DelegatePayload | Delegation | None = payload if isinstance(payload, DelegatePayload) else None
    if isinstance(payload, UndelegatePayload):
        async with engine.pool.connection() as conn:
            said = await delegations.find_delegation(conn, engine.tenant, payload.delegation_id)
    if said is None:
        return found
    question = OperatorQuestion(
        time=timestamp(engine.clock()),
        tenant=engine.tenant,
        actor=await actor_of(engine, found.notification, ""),
        act=payload.kind,
        run=None,
        step=None,
        delegation=DelegationInput(
            delegator=said.delegator,
            delegate=said.delegate,
            groups=list(said.groups),
            starts_at=timestamp(said.starts_at),
            ends_at=timestamp(said.ends_at),
        ),
    )
    return replace(found, judged=Judged(await engine.policy.judge(question)))


async def apply_delegation(matter: Matter, payload: DelegatePayload | UndelegatePayload) -> Applied:
    """Record or end who votes for whom, or refuse that."""
    if isinstance(payload, DelegatePayload):
        return await _record(matter, payload)
    return await _end(matter, payload)


async def _record(matter: Matter, payload: DelegatePayload) -> Applied:
    """Record a delegation, if policy allows it and the directory has what it is about."""
    ruling = await _allowed(matter, payload, payload)
    if isinstance(ruling, Applied):
        return ruling
    tenant, now = matter.notification.tenant, matter.engine.clock()
    groups, why = await _groups_of(matter, payload, now)
    if why:
        return _refused(why)
    delegation = Delegation(
        delegation_id=matter.engine.new_id("dlg"),
        delegator=payload.delegator,
        delegate=payload.delegate,
        groups=tuple(groups),
        starts_at=payload.starts_at,
        ends_at=payload.ends_at,
        recorded_by=matter.notification.actor.id,
        reason=matter.engine.privacy.text(payload.reason),
    )
    await delegations.add_delegation(matter.conn, tenant, delegation, now)
    act = DelegationRecorded(**delegation.said(), policy=_policy(ruling))
    await put_act(matter.conn, tenant, act, matter.notification.actor, now)
    await tell_of_delegation(matter, "recorded", delegation, delegation.reason)
    return _done(delegation.delegation_id, groups=list(groups))


async def _end(matter: Matter, payload: UndelegatePayload) -> Applied:
    """End a delegation now, if policy allows it. Votes that were given by it stay as they are."""
    tenant, now, by = matter.notification.tenant, matter.engine.clock(), matter.notification.actor
    found = await delegations.find_delegation(matter.conn, tenant, payload.delegation_id)
    if found is None:
        return _refused(f"there is no delegation {payload.delegation_id} that nobody has ended")
    ruling = await _allowed(matter, payload, found)
    if isinstance(ruling, Applied):
        return ruling
    if why := await _strands(matter, found, now):
        return _refused(why)
    reason = matter.engine.privacy.text(payload.reason)
    if not await delegations.end_delegation(matter.conn, payload.delegation_id, by.id, reason, now):
        return _refused(f"somebody else has ended {payload.delegation_id} just now")
    act = DelegationEnded(delegation_id=payload.delegation_id, reason=reason, policy=_policy(ruling))
    await put_act(matter.conn, tenant, act, by, now)
    await tell_of_delegation(matter, "ended", found, reason)
    return _done(payload.delegation_id)


async def _strands(matter: Matter, found: Delegation, now: datetime) -> str:
    """Return which open request would have too few eligible approvers without the delegation, "" for none."""
    conn, tenant = matter.conn, matter.notification.tenant
    requests = await open_in_groups(conn, tenant, found.groups)
    groups = sorted({group for one in requests for group in asked_groups(one.requirement)})
    people = await asked_in(conn, tenant, groups, now)
    without = await asked_in(conn, tenant, groups, now, without=found.delegation_id)
    for one in requests:
        before, after = (left(one.requirement, some, one.barred, one.votes) for some in (people, without))
        if refuse_short(before, after):
            return (
                f"not enough eligible approvers would be left for request {one.approval_id} of {one.reference}: {after}"
            )
    return ""


async def _groups_of(matter: Matter, payload: DelegatePayload, now: datetime) -> tuple[Sequence[str], str]:
    """Return the groups that are given, and "", or why the delegation cannot be."""
    if payload.delegate in (payload.delegator, matter.notification.actor.id):
        return (), "nobody votes for themselves, or by their own leave for somebody else"
    if not max(payload.starts_at, now) < payload.ends_at:
        return (), "it would be over before it begins"
    theirs: Sequence[str] = ()
    for name in (payload.delegate, payload.delegator):
        person = await directory.actor(matter.conn, matter.notification.tenant, name)
        if person is None or person["kind"] != "person":
            return (), f"the directory has no person {name}"
        theirs = person["groups"]
    if missing := [group for group in payload.groups if group not in theirs]:
        return (), f"{payload.delegator} is not in {', '.join(missing)}"
    groups = payload.groups or tuple(theirs)
    return groups, "" if groups else f"{payload.delegator} is in no group"


async def _allowed(
    matter: Matter, payload: DelegatePayload | UndelegatePayload, about: DelegatePayload | Delegation
) -> Ruling | Applied:
    """Return the ruling that allows it, or what becomes of the notification where there is none; a denial is on record.

    `about` is what it would be, or is, that is to be ended.
    """
    ruling = matter.judged.ruling if matter.judged else None
    if ruling is None:
        return Applied(NotificationStatus.STALE, {"reason": "policy was not asked about the delegation as it is now"})
    why = denial(ruling)
    if not why:
        return ruling
    act = DelegationRefused(
        act=payload.kind,
        delegator=about.delegator,
        delegate=about.delegate,
        groups=list(about.groups),
        starts_at=timestamp(about.starts_at),
        ends_at=timestamp(about.ends_at),
        reason=matter.engine.privacy.text(payload.reason),
        why=why,
        policy=_policy(ruling),
    )
    await put_act(matter.conn, matter.notification.tenant, act, matter.notification.actor, matter.engine.clock())
    return _refused(why)


def _policy(ruling: Ruling) -> Allowed:
    return Allowed(**policy_of(ruling))


def _refused(reason: str) -> Applied:
    return Applied(NotificationStatus.REFUSED, {"reason": reason})


def _done(delegation_id: str, **more: Any) -> Applied:
    return Applied(NotificationStatus.APPLIED, {"delegation_id": delegation_id, **more})
