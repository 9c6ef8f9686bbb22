"""The one door in: every inbound fact is a notification, recorded once, then applied to the waits that it is for.

Late, repeated and unmatched notifications are recorded as such and change nothing. What comes early waits for its wait.
What is wrong with a notification makes it a dead letter; a fault of ours does not: it is tried again until mended.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from receipts.chain import PROGRAM, Actor
from runtime.definitions.model import Retry
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.inbox.answers import HANDED_TO, apply_answer, look_at_answer, outcome_of_all, outcome_of_one
from runtime.inbox.approver_questions import apply_ask, apply_reply
from runtime.inbox.cancellations import apply_cancel, apply_undo, authorize_cancel
from runtime.inbox.definition_activation import apply_status_change
from runtime.inbox.delegations import apply_delegation, authorize_delegation
from runtime.inbox.notification_context import NotificationContext, addressed_runs, addressed_waits
from runtime.inbox.operator_acts import apply_install_link, judge
from runtime.inbox.passkey_registration import apply_passkey_act, authorize_passkey_act
from runtime.inbox.policy_activation import apply_policy_change
from runtime.inbox.request_edits import apply_edit, foresee_edit
from runtime.inbox.retries import apply_bundle_retry, apply_dead_letter, apply_redelivery, apply_retry
from runtime.inbox.review_claims import apply_claim, apply_handover
from runtime.inbox.signals import apply_signal
from runtime.inbox.step_repairs import apply_step_repair, authorize_repair
from runtime.inbox.unknown_actors import CONFIRMED_AS, apply_unknown_actor
from runtime.inbox.vote_refusals import look_at_withdrawal
from runtime.inbox.votes import apply_vote, apply_withdrawal, vote_context
from runtime.inbox.wait_endings import apply_child_ended, apply_deadline, apply_escalation
from runtime.model.approval import NamedApproval
from runtime.model.commands import (
    CancelPayload,
    DelegatePayload,
    InstallLinkPayload,
    InvitePasskeyPayload,
    RepairStepPayload,
    RevokePasskeyPayload,
    UndelegatePayload,
)
from runtime.model.delegation import Delegate
from runtime.model.effect import PolicyReplacedError
from runtime.model.limits import error_text, first_line
from runtime.model.notification import Addressed, ApplyResult, ConflictError, Notification, Payload
from runtime.model.payloads import (
    CompletionPayload,
    EditPayload,
    PayloadError,
    ProgressPayload,
    VotePayload,
    WithdrawPayload,
)
from runtime.model.states import NotificationStatus
from runtime.model.votes import RefusalCode, VoteContext
from runtime.outbox.retry import delay
from runtime.store import notifications
from runtime.store.batched_reads import BatchedReads
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import AWAY, Conn
from runtime.store.records import expect_in_force
from runtime.store.run_tx import RunTx
from runtime.store.transaction_batcher import Look

NOT_NOW = "This is recorded, but could not be applied just now. It is tried again."
NOT_CONFIRMED = "This waits until Slack confirms who says it."

_BACKOFF = Retry(1, "exponential", timedelta(seconds=1), timedelta(minutes=10))
"""How long a notification is left alone that a fault of ours kept from being applied; nothing ends it but the mend."""

_CONFIRMING = timedelta(minutes=1)
"""How long a worker leaves alone what waits for Slack's word; the bot applies it as soon as there is some."""

_HANDED_AT_ONCE = 64
"""Notifications that are applied side by side, of one that was handed to many waits."""

_OPEN = (NotificationStatus.RECEIVED, NotificationStatus.EARLY)

log = logging.getLogger(__name__)


async def record(engine: Engine, notification: Notification) -> str:
    """Write a notification durably and return its id; a repeat returns the first's id.

    Whoever records it applies it; if nobody has within the `HEAD_START`, a worker does.
    """
    at(Point.NOTIFICATION_RECORDING)
    notification_id = await engine.record(notification)
    at(Point.NOTIFICATION_RECORDED)
    return notification_id


async def record_new(conn: Conn, new: Sequence[Notification], now: datetime, until: datetime) -> list[str]:
    """Write notifications in the caller's transaction; return the ids of those that are no repeats.

    The caller applies them after its commit; if it has not before `until`, a worker does.
    """
    at(Point.NOTIFICATION_RECORDING)
    written = await notifications.record_all(conn, new, now, until)
    return [one.notification_id for one in new if one.notification_id in written]


async def record_addressed(engine: Engine, notification: Notification) -> Addressed | str:
    """Do as `record`; return what is new with what it is for, and of a repeat the first's id."""
    at(Point.NOTIFICATION_RECORDING)
    recorded = await engine.record_addressed(notification)
    at(Point.NOTIFICATION_RECORDED)
    return recorded


async def submit(engine: Engine, payload: Payload, *, by: Actor, about: str, key: str) -> tuple[str, Mapping[str, Any]]:
    """Record what somebody sends and apply it; return the notification's id and the facts of its outcome.

    Sent again, it gets the present outcome. Raise ConflictError where its key was used for something else.
    """
    new = engine.notification(payload, by=by, about=about, key=key)
    recorded = await record_addressed(engine, new)
    if not isinstance(recorded, str):
        return new.notification_id, await apply(engine, recorded)
    if recorded != new.notification_id and not (await engine.addressed(recorded)).notification.is_repeated_by(new):
        raise ConflictError
    return recorded, await apply(engine, recorded)


async def apply(engine: Engine, recorded: str | Addressed) -> Mapping[str, Any]:
    """Apply a recorded notification, at most once, and return the facts of its outcome; a repeat returns the same.

    What is no notification of its kind is a dead letter, and says why. Over a fault of ours it stays `received`. It is
    not read again where it was read when it was recorded.
    """
    notification_id = recorded if isinstance(recorded, str) else recorded.notification.notification_id
    try:
        return await _apply(engine, await engine.addressed(recorded) if isinstance(recorded, str) else recorded)
    except PayloadError as error:
        return await _bury(engine, notification_id, error)
    except AWAY:
        raise  # the database's, whom nothing can be told just now
    except Exception as error:  # noqa: BLE001 - whatever it is, what people and other systems said is kept
        return await _put_off(engine, notification_id, error)


async def _bury(engine: Engine, notification_id: str, error: PayloadError) -> Mapping[str, Any]:
    reason = error_text(engine.privacy.text(str(error)))
    facts = _told(RefusalCode.UNUSABLE, NotificationStatus.DEAD_LETTER, reason)
    log.warning("notification %s is a dead letter: %s", notification_id, reason)
    async with engine.pool.connection() as conn, conn.transaction():
        await notifications.mark(conn, notification_id, NotificationStatus.DEAD_LETTER, facts, engine.clock())
    return facts


async def _put_off(engine: Engine, notification_id: str, error: Exception) -> Mapping[str, Any]:
    """Have it tried again after a pause that grows. The first time it is logged: the fault is ours to mend."""
    async with engine.pool.connection() as conn, conn.transaction():
        reason = error_text(engine.privacy.text(f"{type(error).__name__}: {first_line(error)}"))
        failures = await notifications.count_failure(conn, notification_id, reason)
        pause = delay(_BACKOFF, failures, engine.jitter())
        await notifications.postpone(conn, notification_id, engine.clock() + pause)
    if failures == 1 and not isinstance(error, PolicyReplacedError):
        log.error("notification %s could not be applied, and is tried again", notification_id, exc_info=error)
    return _told(RefusalCode.FAILING, NotificationStatus.RECEIVED, NOT_NOW)


def _told(code: RefusalCode, status: NotificationStatus, reason: str) -> dict[str, Any]:
    """Return facts for whoever asks, be it about a vote or an answer."""
    return {
        "counted": False,
        "code": str(code),
        "approval": None,
        "status": str(status),
        "reason": reason,
    }


async def _apply(engine: Engine, found: Addressed) -> Mapping[str, Any]:
    """Apply it under the lock of its run, together with others; by itself where it is for no run, or for many waits."""
    if found.notification.status not in _OPEN:
        return await _told_of_all(engine, found.notification.outcome or {})
    if found.notification.is_unconfirmed:
        return await _leave_alone(engine, found.notification.notification_id)
    found = await _authorize(engine, found)
    runs = addressed_runs(found)
    if runs:
        facts = await _apply_together(engine, found, *runs)
    else:
        facts = await _apply_alone(engine, found)
    at(Point.NOTIFICATION_APPLIED)
    if facts.get("status") == NotificationStatus.DEAD_LETTER:
        log.warning(
            "notification %s is a dead letter: %s",
            found.notification.notification_id,
            facts.get("reason") or facts["code"],
        )
    return await _told_of_all(engine, facts)


async def _authorize(engine: Engine, found: Addressed) -> Addressed:
    """Return a notification with what policy says of it, where that is asked; raise PolicyUnavailableError.

    What the program wants of its own accord is no person's act: it ends the runs whose end nobody waits for any more.
    """
    payload = found.notification.payload
    if found.notification.actor == PROGRAM:
        return found
    if isinstance(payload, DelegatePayload | UndelegatePayload):
        return await authorize_delegation(engine, found, payload)
    if isinstance(payload, InstallLinkPayload):
        return await judge(engine, found, payload.kind)
    if isinstance(payload, InvitePasskeyPayload | RevokePasskeyPayload):
        return await authorize_passkey_act(engine, found, payload)
    if found.run_id is None:
        return found
    return await _authorize_on_run(engine, found)


async def _authorize_on_run(engine: Engine, found: Addressed) -> Addressed:
    match found.notification.payload:
        case EditPayload() as edit:
            return replace(found, foreseen=await foresee_edit(engine, edit.approval_id, edit.person_id, edit.params))
        case RepairStepPayload() as repair:
            return await authorize_repair(engine, found, repair)
        case CancelPayload() as cancel:
            return await authorize_cancel(engine, found, cancel)
    return found


async def _leave_alone(engine: Engine, notification_id: str) -> Mapping[str, Any]:
    """Leave to the bot what waits for Slack to confirm who says it."""
    async with engine.pool.connection() as conn, conn.transaction():
        await notifications.postpone(conn, notification_id, engine.clock() + _CONFIRMING)
    return _told(RefusalCode.UNCONFIRMED, NotificationStatus.RECEIVED, NOT_CONFIRMED)


async def _told_of_all(engine: Engine, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts, or those of what a notification became: confirmed, or handed to many waits, now or before."""
    if (confirmed := facts.get(CONFIRMED_AS)) is not None:
        return await apply(engine, confirmed)
    handed = facts.get(HANDED_TO)
    if handed is None:
        return facts
    slots = asyncio.Semaphore(_HANDED_AT_ONCE)

    async def one(named: Mapping[str, Any]) -> dict[str, Any]:
        async with slots:
            return outcome_of_one(named, await apply(engine, named["notification_id"]))

    return outcome_of_all(await asyncio.gather(*(one(named) for named in handed)))


async def _apply_together(engine: Engine, found: Addressed, run_id: str) -> Mapping[str, Any]:
    """Apply it to its run; a worker of this process may take on what follows with the commit."""
    with engine.wakeup.slot_offer() as offer:

        async def on(tx: RunTx) -> Mapping[str, Any]:
            with tx.chaining_into(offer.open(tx.now + engine.timing.lease)):
                return await _settle(engine, found, tx.conn, tx.loads, {tx.run_id: tx})

        return await engine.on_run(run_id, on, _looks(found))


def _looks(found: Addressed) -> Sequence[Look]:
    """Return what is read with the run's lock: the rows that say what else a notification is judged by."""
    match found.notification.payload:
        case VotePayload(ticket="", person_id=str(person)) if found.request and found.request.by_delegate:
            return [Delegate(found.notification.tenant, person)]
        case VotePayload(ticket=ticket, approval_id=approval_id) if ticket:
            return [NamedApproval(approval_id)]
        case WithdrawPayload(approval_id=approval_id):
            return [NamedApproval(approval_id)]
        case CompletionPayload() | ProgressPayload():
            return addressed_waits(found)
    return []


async def _apply_alone(engine: Engine, found: Addressed) -> Mapping[str, Any]:
    async with engine.pool.connection() as conn, conn.transaction():
        return await _settle(engine, found, conn, BatchedReads(conn), {})


async def _settle(
    engine: Engine, found: Addressed, conn: Conn, loads: BatchedReads, runs: Mapping[str, RunTx]
) -> Mapping[str, Any]:
    """Apply a notification, unless somebody has meanwhile; the runs' locks come before its own."""
    payload = found.notification.payload
    # runs share transactions: how often somebody has used break-glass must not be counted by two before either writes
    async with loads.alone if isinstance(payload, VotePayload) and payload.ticket else nullcontext():
        return await _settle_one(engine, found, conn, loads, runs)


async def _settle_one(
    engine: Engine, found: Addressed, conn: Conn, loads: BatchedReads, runs: Mapping[str, RunTx]
) -> Mapping[str, Any]:
    notification = found.notification
    standing, context = await at_once(loads.standing(notification.notification_id), _vote_context(engine, found, runs))
    if standing.status is NotificationStatus.EARLY:  # sent again: its wait may have opened
        await notifications.move(
            conn, notification.notification_id, standing.status, NotificationStatus.RECEIVED, None, engine.clock()
        )
    with ExitStack() as asked:
        for tx in runs.values():
            asked.callback(tx.ahead.clear)
            asked.enter_context(tx.asked_by(notification.request_id))
        if standing.status not in _OPEN:
            return standing.outcome or {}
        waits = addressed_waits(found)
        matter = NotificationContext(
            engine, conn, loads, notification, waits, runs, found.judged, context, found.foreseen
        )
        applied = await APPLY[notification.payload.kind](matter, notification.payload)
        for digest in _answered_by(found):  # last: what is applied may wait for a chain, and this keeps others waiting
            await expect_in_force(conn, digest)
    facts = {**applied.facts, "status": str(applied.status)}
    await notifications.mark(conn, notification.notification_id, applied.status, facts, engine.clock())
    if applied.is_passed_on:
        await notifications.forget_data(conn, notification.notification_id)
    at(Point.NOTIFICATION_APPLYING)
    return facts


def _answered_by(found: Addressed) -> list[str]:
    """Return the digest of the policy whose answer a notification rests on, if it rests on one."""
    ruled = found.judged.ruling.policy_digest if found.judged else None
    foreseen = found.foreseen.policy_digest if found.foreseen else None
    return [digest for digest in (ruled, foreseen) if digest is not None]


async def _vote_context(engine: Engine, found: Addressed, runs: Mapping[str, RunTx]) -> VoteContext | None:
    """Return what a vote is judged by, None of what is no vote; read with where its notification stands."""
    tx = next(iter(runs.values()), None)
    match found.notification.payload:
        case VotePayload() as vote if tx is not None:
            return await vote_context(engine, tx, vote, found.request)
        case WithdrawPayload() as withdrawal if tx is not None:
            await look_at_withdrawal(tx, withdrawal)
        case CompletionPayload() if tx is not None:
            await look_at_answer(tx, addressed_waits(found)[0])
    return None


APPLY: Mapping[str, Callable[[NotificationContext, Any], Awaitable[ApplyResult]]] = {
    "vote": apply_vote,
    "claim": apply_claim,
    "withdraw": apply_withdrawal,
    "hand": apply_handover,
    "edit": apply_edit,
    "ask": apply_ask,
    "reply": apply_reply,
    "completion": apply_answer,
    "progress": apply_answer,
    "signal": apply_signal,
    "deadline": apply_deadline,
    "escalation": apply_escalation,
    "child_ended": apply_child_ended,
    "cancel": apply_cancel,
    "undo": apply_undo,
    "retry": apply_retry,
    "repair_step": apply_step_repair,
    "unknown_actor": apply_unknown_actor,
    "retry_bundle": apply_bundle_retry,
    "requeue": apply_dead_letter,
    "drop": apply_dead_letter,
    "delivery": apply_redelivery,
    "activate": apply_status_change,
    "retire": apply_status_change,
    "activate_policy": apply_policy_change,
    "rollback_policy": apply_policy_change,
    "delegate": apply_delegation,
    "undelegate": apply_delegation,
    "install_link": apply_install_link,
    "invite_passkey": apply_passkey_act,
    "register_passkey": apply_passkey_act,
    "revoke_passkey": apply_passkey_act,
}
"""What applies a notification, by the kind of its payload."""
