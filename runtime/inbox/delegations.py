"""Delegations: who votes for whom, recorded, or ended early, by a person whom policy lets, and put on record.

Delegator and delegate are told what became of a delegation, each by a direct message. A run of its own tells them, so
these messages pass the gate like any other.
"""

from collections.abc import Awaitable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal

from policy.operator_contract import Authorization, DelegationInput
from receipts.acts import Allowed, DelegationRefused
from receipts.canonical import dumps
from receipts.chain import PROGRAM
from receipts.fields import timestamp
from receipts.tenant_acts import DelegationEnded, DelegationRecorded, delegation_name
from runtime.approvals.requests import asked_groups, left, refuse_short
from runtime.approvals.rules import leaves_open
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.model import Definition, StepDefinition
from runtime.definitions.nodes import NodeKind, SetSpec
from runtime.engine import Engine
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.operator_acts import denial, judge, policy_of
from runtime.model.approval import Approval
from runtime.model.chat_message import DelegateVoted, DelegationChanged
from runtime.model.commands import DelegatePayload, UndelegatePayload
from runtime.model.delegation import Delegate, Delegation, StandIn
from runtime.model.notification import Addressed, ApplyResult
from runtime.model.states import NotificationStatus
from runtime.model.votes import Vote
from runtime.outbox import messages
from runtime.planning.triggers import Trigger, claim_in
from runtime.store import delegations, directory
from runtime.store.batched_reads import BatchedReads
from runtime.store.database.pool import Conn
from runtime.store.definitions import keep_definitions
from runtime.store.electorate import electorate_of
from runtime.store.request_lists import open_in_groups
from runtime.store.run_tx import RunTx
from runtime.store.tenants import acts_named, put_act

DELEGATION = "countersign.delegation"
"""The trigger type; what begins with `countersign.` no pack may claim."""

_RUNBOOK = "countersign-delegation"
_TEXT = {"type": "string"}


@cache
def delegation_definition() -> Definition:
    """Return the definition: it keeps which delegation was recorded, or ended."""
    members = {"delegation_id": _TEXT, "act": {"enum": ["recorded", "ended"]}}
    kept = SetSpec(values={name: f"${{trigger.{name}}}" for name in members})
    draft = Definition(
        name=_RUNBOOK,
        version=1,
        title="Delegation",
        description="Tells delegator and delegate that a delegation was recorded or ended.",
        trigger_type=DELEGATION,
        trigger_schema={
            "type": "object",
            "required": list(members),
            "additionalProperties": False,
            "properties": members,
        },
        steps={"keep": StepDefinition("keep", "", {}, None, NodeKind.SET, kept)},
        edges=(),
        verbs={},
        canonical=b"",
        digest="",
    )
    return from_canonical(dumps(definition_document(draft)))


async def tell_of_delegation(
    matter: NotificationContext, act: Literal["recorded", "ended"], about: Delegation, reason: str
) -> None:
    """Start the run that tells both, in the transaction of the act."""
    conn, tenant, by = matter.conn, matter.notification.tenant, matter.notification.actor
    await keep_definitions(conn, tenant, [delegation_definition()], matter.engine.clock())
    trigger = Trigger(
        tenant=tenant,
        type=DELEGATION,
        ref=f"{about.delegate} for {about.delegator}: {act} ({about.delegation_id})",  # lists of runs show it
        payload={"delegation_id": about.delegation_id, "act": act},
        requested_by=PROGRAM,
        submitted_by=by.id,
        request_id=matter.notification.request_id,
    )
    claimed = await claim_in(matter.engine, BatchedReads(conn), delegation_definition(), trigger)
    await conn.write()
    tx = await matter.engine.lock_run(conn, claimed.run_id, trigger.request_id)
    delegator, delegate, person = [
        await _person_name(conn, tenant, one) for one in (about.delegator, about.delegate, by.id)
    ]
    said = DelegationChanged(
        act=act,
        delegator=delegator,
        delegate=delegate,
        groups=list(about.groups),
        starts_at=timestamp(about.starts_at),
        ends_at=timestamp(about.ends_at),
        person=person,
        reason=reason,
    )
    await _tell_both(matter.engine, tx, (about.delegator, about.delegate), f"delegation:{act}", said, None)
    await tx.flush()


async def stand_ins_now(tx: RunTx, person: str) -> list[StandIn]:
    """Return for whom a person may vote now, in the order in which that was recorded."""
    return _covering(tx, await tx.once(tx.loads.stand_ins, Delegate(tx.tenant, person)))


def _covering(tx: RunTx, found: Sequence[StandIn]) -> list[StandIn]:
    return [stand_in for stand_in in found if stand_in.delegation.covers(tx.now)]


def act_of(stand_in: StandIn) -> tuple[str, ...]:
    """Return the name of the act that recorded a delegation."""
    return (delegation_name(stand_in.delegation.delegation_id),)


def look_at_delegation(tx: RunTx, person: str | None) -> list[Awaitable[None]]:
    """Return the reads that a delegate's vote needs, for the delegations that were read with the run's lock."""
    found = _covering(tx, tx.ahead.get(Delegate(tx.tenant, person or ""), ()))
    people = {person, *(one.delegator.id for one in found)} if found else ()
    return [
        *(tx.look(name, acts_named(tx.conn, tx.tenant, name)) for name in map(act_of, found)),
        *(messages.look_at_person(tx, one) for one in sorted(filter(None, people))),
    ]


async def tell_of_delegate_vote(
    engine: Engine, tx: RunTx, approval: Approval, name: str, vote: Vote, stand_in: StandIn
) -> None:
    """Tell both that a delegate voted; `name` makes it once."""
    said = DelegateVoted(
        run=await messages.run_name(tx),
        step=approval.step,
        delegator=stand_in.delegator.name,
        delegate=vote.person_name,
        verdict=vote.verdict,
        leaves_open=leaves_open(approval.requirement, vote),
    )
    await _tell_both(engine, tx, (stand_in.delegator.id, vote.person), f"delegate:{name}", said, approval.approval_id)


async def _tell_both(
    engine: Engine,
    tx: RunTx,
    people: tuple[str, str],
    name: str,
    said: DelegationChanged | DelegateVoted,
    card_of: str | None,
) -> None:
    for person in people:
        await messages.tell_person(engine, tx, person, name, said, card_of, is_new=True)


async def _person_name(conn: Conn, tenant: str, person: str) -> str:
    """Return the person's name in the directory, their id where it has none."""
    found = await directory.actor(conn, tenant, person)
    return (found["name"] if found else "") or person


async def authorize_delegation(
    engine: Engine, found: Addressed, payload: DelegatePayload | UndelegatePayload
) -> Addressed:
    """Return a notification with what policy says of it; raise PolicyUnavailableError."""
    said: DelegatePayload | Delegation | None = payload if isinstance(payload, DelegatePayload) else None
    if isinstance(payload, UndelegatePayload):
        async with engine.pool.connection() as conn:
            said = await delegations.find_delegation(conn, engine.tenant, payload.delegation_id)
    if said is None:
        return found
    about = DelegationInput(
        delegator=said.delegator,
        delegate=said.delegate,
        groups=list(said.groups),
        starts_at=timestamp(said.starts_at),
        ends_at=timestamp(said.ends_at),
    )
    return await judge(engine, found, payload.kind, delegation=about)


async def apply_delegation(matter: NotificationContext, payload: DelegatePayload | UndelegatePayload) -> ApplyResult:
    """Record or end who votes for whom, or refuse that."""
    if isinstance(payload, DelegatePayload):
        return await _record(matter, payload)
    return await _end(matter, payload)


async def _record(matter: NotificationContext, payload: DelegatePayload) -> ApplyResult:
    """Record a delegation, if policy allows it and the directory has what it is about."""
    ruling = await _allowed(matter, payload, payload)
    if isinstance(ruling, ApplyResult):
        return ruling
    tenant, now = matter.notification.tenant, matter.engine.clock()
    groups, why = await _groups_of(matter, payload, now)
    if why:
        return _refuse(why)
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
    return _applied(delegation.delegation_id, groups=list(groups))


async def _end(matter: NotificationContext, payload: UndelegatePayload) -> ApplyResult:
    """End a delegation now, if policy allows it. Votes that were given by it stay as they are."""
    tenant, now, by = matter.notification.tenant, matter.engine.clock(), matter.notification.actor
    found = await delegations.find_delegation(matter.conn, tenant, payload.delegation_id)
    if found is None:
        return _refuse(f"there is no delegation {payload.delegation_id} that nobody has ended")
    ruling = await _allowed(matter, payload, found)
    if isinstance(ruling, ApplyResult):
        return ruling
    if why := await _strands(matter, found, now):
        return _refuse(why)
    reason = matter.engine.privacy.text(payload.reason)
    if not await delegations.end_delegation(matter.conn, payload.delegation_id, by.id, reason, now):
        return _refuse(f"somebody else has ended {payload.delegation_id} just now")
    act = DelegationEnded(delegation_id=payload.delegation_id, reason=reason, policy=_policy(ruling))
    await put_act(matter.conn, tenant, act, by, now)
    await tell_of_delegation(matter, "ended", found, reason)
    return _applied(payload.delegation_id)


async def _strands(matter: NotificationContext, found: Delegation, now: datetime) -> str:
    """Return which open request would have too few eligible approvers without the delegation, "" for none."""
    conn, tenant = matter.conn, matter.notification.tenant
    requests = await open_in_groups(conn, tenant, found.groups)
    groups = sorted({group for one in requests for group in asked_groups(one.requirement)})
    people = await electorate_of(conn, tenant, groups, now)
    without = await electorate_of(conn, tenant, groups, now, without=found.delegation_id)
    for one in requests:
        before, after = (left(one.requirement, some, one.barred, one.votes) for some in (people, without))
        if refuse_short(before, after):
            return (
                f"not enough eligible approvers would be left for request {one.approval_id} of {one.reference}: {after}"
            )
    return ""


async def _groups_of(matter: NotificationContext, payload: DelegatePayload, now: datetime) -> tuple[Sequence[str], str]:
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
    matter: NotificationContext, payload: DelegatePayload | UndelegatePayload, about: DelegatePayload | Delegation
) -> Authorization | ApplyResult:
    """Return the ruling that allows it, or what becomes of the notification where there is none; a denial is on record.

    `about` is what it would be, or is, that is to be ended.
    """
    ruling = matter.judged.ruling if matter.judged else None
    if ruling is None:
        return ApplyResult(
            NotificationStatus.STALE, {"reason": "policy was not asked about the delegation as it is now"}
        )
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
    return _refuse(why)


def _policy(ruling: Authorization) -> Allowed:
    return Allowed(**policy_of(ruling))


def _refuse(reason: str) -> ApplyResult:
    return ApplyResult(NotificationStatus.REFUSED, {"reason": reason})


def _applied(delegation_id: str, **more: Any) -> ApplyResult:
    return ApplyResult(NotificationStatus.APPLIED, {"delegation_id": delegation_id, **more})
