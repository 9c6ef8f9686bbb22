"""Stops runs on somebody's word, and tells those who were asked something that no answer is wanted any more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from receipts.chain import PROGRAM
from runtime.engine import Engine
from runtime.inbox.matter import Matter
from runtime.inbox.operator_acts import DENIED, denial, policy_of, refuse_wish
from runtime.model.approval import Result, ResultCode
from runtime.model.notification import Applied, Notification
from runtime.model.run_payloads import CancelPayload
from runtime.model.states import NotificationStatus, StepStatus
from runtime.planning.advance import advance
from runtime.planning.planner import Canceled
from runtime.planning.undo_acts import Acted, Done
from runtime.planning.undo_asking import ask_for_undo, possible, read_done
from runtime.planning.undo_items import items_of
from runtime.store import approvals
from runtime.store.run_tx import RunTx
from runtime.store.steps import Wanted


async def apply_cancel(matter: Matter, payload: CancelPayload) -> Applied:
    """Stop a run on somebody's word, if policy allows it; the program's own needs nobody's leave."""
    tx = matter.seen_run(payload.run_id, payload.version)
    if isinstance(tx, Applied):
        return tx
    if tx.is_over:
        return Applied(NotificationStatus.STALE, {"reason": f"the run has ended: {tx.status}"})
    ruling = matter.judged.ruling if matter.judged else None
    if ruling is None and matter.notification.actor != PROGRAM:
        return Applied(NotificationStatus.STALE, {"reason": "policy was not asked about the run as it is now"})
    if ruling is not None and (why := denial(ruling)):
        return await refuse_wish(matter, tx, DENIED, why)
    return await _stop(matter, tx, payload, {} if ruling is None else {"policy": policy_of(ruling)})


async def _stop(matter: Matter, tx: RunTx, payload: CancelPayload, policy: Mapping[str, Any]) -> Applied:
    reason = (await tx.privacy()).text(payload.reason)
    tx.leaf("run.cancel_requested", {"reason": reason, **policy}, actor=matter.notification.actor)
    asked, requests = await _asked(tx), await approvals.open_of(tx.conn, tx.run_id)
    await advance(matter.engine, tx, Canceled(reason))
    if requests:
        await _say_who(tx, requests, matter.notification, reason)
    withdrawn_in = await _withdraw(matter.engine, tx, asked, matter.notification)
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id, "withdrawn_in": withdrawn_in})


async def _say_who(tx: RunTx, requests: Sequence[str], notification: Notification, reason: str) -> None:
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
    steps, _ = await tx.loads.steps(Wanted(tx.run_id, None))
    parked = (path for path, state in steps.items() if state.status is StepStatus.PARKED)
    return frozenset(path for path in parked if (verb := definition.calls(path)) and verb.on_cancel)


def _last(done: Done) -> list[Acted]:
    """Return of each step what it asked for last: where it was tried anew, nothing is awaited of what was before."""
    return [one for one in done.effects if one.is_last]


async def _withdraw(engine: Engine, tx: RunTx, asked: frozenset[str], notification: Notification) -> str | None:
    """Start the run that tells the other side, and return its id; the canceled one has ended, and does nothing more."""
    if not asked:
        return None
    done = await read_done(tx.conn, tx.tenant, tx.run_id, await tx.definition())
    items = [item for item in possible(items_of(replace(done, effects=_last(done)))) if item.step in asked]
    if not items:
        return None
    return (await ask_for_undo(engine, tx.conn, done, items, notification.actor, notification.request_id)).run_id
