"""Cancellation and undo of runs at somebody's word.

Canceling stops a run, and tells those who were asked something that no answer is wanted any more. Undo takes back what
a run did, by another run, which asks policy and people again for everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from receipts.chain import PROGRAM
from runtime.engine import Engine
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.operator_acts import DENIED, denial, judge, operated_run, policy_of, refuse_operator_act
from runtime.model.approval import Result, ResultCode
from runtime.model.commands import CancelPayload, UndoPayload
from runtime.model.notification import Addressed, ApplyResult, Notification
from runtime.model.states import NotificationStatus, StepStatus
from runtime.model.undo import Item, Standing
from runtime.planning.advance import advance
from runtime.planning.transition import Canceled
from runtime.planning.undo import RunEffect, RunToUndo, ask_for_undo, items_of, possible_items, read_done
from runtime.store import approvals
from runtime.store.operator_lists import find_run
from runtime.store.run_tx import RunTx
from runtime.store.steps import WantedSteps


async def apply_cancel(matter: NotificationContext, payload: CancelPayload) -> ApplyResult:
    """Stop a run on somebody's word, if policy allows it; the program's own needs nobody's leave."""
    tx = matter.seen_run(payload.run_id, payload.version)
    if isinstance(tx, ApplyResult):
        return tx
    if tx.is_over:
        return ApplyResult(NotificationStatus.STALE, {"reason": f"the run has ended: {tx.status}"})
    ruling = matter.judged.ruling if matter.judged else None
    if ruling is None and matter.notification.actor != PROGRAM:
        return ApplyResult(NotificationStatus.STALE, {"reason": "policy was not asked about the run as it is now"})
    if ruling is not None and (why := denial(ruling)):
        return await refuse_operator_act(matter, tx, DENIED, why)
    return await _stop(matter, tx, payload, {} if ruling is None else {"policy": policy_of(ruling)})


async def _stop(
    matter: NotificationContext, tx: RunTx, payload: CancelPayload, policy: Mapping[str, Any]
) -> ApplyResult:
    reason = (await tx.privacy()).text(payload.reason)
    tx.leaf("run.cancel_requested", {"reason": reason, **policy}, actor=matter.notification.actor)
    asked, requests = await _asked(tx), await approvals.open_of(tx.conn, tx.run_id)
    await advance(matter.engine, tx, Canceled(reason))
    if requests:
        await _name_canceler(tx, requests, matter.notification, reason)
    withdrawn_in = await _withdraw(matter.engine, tx, asked, matter.notification)
    return ApplyResult(NotificationStatus.APPLIED, {"run_id": tx.run_id, "withdrawn_in": withdrawn_in})


async def _name_canceler(tx: RunTx, requests: Sequence[str], notification: Notification, reason: str) -> None:
    """Have the cards of what the run asked people say who canceled it, and why."""
    row = await tx.loads.actor((tx.tenant, notification.actor.id))
    name = row["name"] if row else notification.actor.id
    for approval_id in requests:
        await approvals.touch(tx.conn, approval_id, result=Result(ResultCode.CANCELED, (name, reason)))


async def _asked(tx: RunTx) -> frozenset[str]:
    """Return the steps that wait for an answer of which the other side can be told that nobody wants it any more."""
    definition = await tx.definition()
    if not any(verb.on_cancel for verb in definition.verbs.values()):
        return frozenset()
    steps, _ = await tx.loads.steps(WantedSteps(tx.run_id, None))
    parked = (path for path, state in steps.items() if state.status is StepStatus.PARKED)
    return frozenset(path for path in parked if (verb := definition.calls(path)) and verb.on_cancel)


def _last_requests(done: RunToUndo) -> list[RunEffect]:
    """Return of each step what it asked for last: where it was tried anew, nothing is awaited of what was before."""
    return [one for one in done.effects if one.is_last]


async def _withdraw(engine: Engine, tx: RunTx, asked: frozenset[str], notification: Notification) -> str | None:
    """Start the run that tells the other side, and return its id; the canceled one has ended, and does nothing more."""
    if not asked:
        return None
    done = await read_done(tx.conn, tx.tenant, tx.run_id, await tx.definition())
    items = [
        item for item in possible_items(items_of(replace(done, effects=_last_requests(done)))) if item.step in asked
    ]
    if not items:
        return None
    return (await ask_for_undo(engine, tx.conn, done, items, notification.actor, notification.request_id)).run_id


async def apply_undo(matter: NotificationContext, payload: UndoPayload) -> ApplyResult:
    """Start the run that undoes what can be undone; say what that is, and what is left and why.

    A run that goes on may still rely on what it did: of that, one step may be undone, but not all.
    """
    tx = matter.seen_run(payload.run_id, payload.version)
    if isinstance(tx, ApplyResult):
        return tx
    if payload.step is None and not tx.is_over:
        return ApplyResult(NotificationStatus.STALE, {"reason": f"the run goes on: cancel it first ({tx.status})"})
    done = await read_done(tx.conn, tx.tenant, tx.run_id, await tx.definition())
    items = items_of(done, payload.step)
    wanted = possible_items(items)
    if not wanted:
        return ApplyResult(NotificationStatus.STALE, {"reason": f"nothing of it can be undone{_why_impossible(items)}"})
    by, request_id = matter.notification.actor, matter.notification.request_id
    claimed = await ask_for_undo(matter.engine, tx.conn, done, wanted, by, request_id, payload.submitted_by)
    left = [item for item in items if item.standing is not Standing.POSSIBLE]
    facts = {
        "run_id": tx.run_id,
        "undone_in": claimed.run_id,
        "undone": items_as_facts(wanted),
        "left": items_as_facts(left),
    }
    return ApplyResult(NotificationStatus.APPLIED, facts)


def _why_impossible(items: Sequence[Item]) -> str:
    return "".join(f"; {item.step}: {item.why}" for item in items)


def items_as_facts(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the items as people and programs are told of them."""
    return [
        {"step": item.step, "what": item.what, "target": item.target, "standing": item.standing.value, "why": item.why}
        for item in items
    ]


async def authorize_cancel(engine: Engine, found: Addressed, payload: CancelPayload) -> Addressed:
    """Return the wish with what policy says of it, unless the run is over; raise PolicyUnavailableError."""
    async with engine.pool.connection() as conn:
        run = await find_run(conn, engine.tenant, payload.run_id)
    if run is None or run["finished_at"] is not None:
        return found
    return await judge(engine, found, payload.kind, payload.submitted_by, run=operated_run(run))
