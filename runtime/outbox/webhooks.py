"""Webhook events: which leaves of a run are events, and a delivery for each subscriber, written with what it tells of.

It is told by ids, statuses and times, and by nothing that anybody wrote. What becomes of it changes nothing in its run.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from receipts.chain import APPROVAL_ENDED, APPROVAL_REQUESTED, PROGRAM, RECEIPT_WRITTEN, VOTE_COUNTED, Leaf
from runtime.definitions.model import Retry
from runtime.engine import Engine
from runtime.model.action import Tier, dedupe_key
from runtime.model.commands import DeliveryPayload
from runtime.model.effect import Effect, NewEffect, OnDoubt, Purpose
from runtime.model.states import NotificationStatus
from runtime.model.subscription import (
    CONNECTOR,
    OPERATION,
    EventName,
    Subscription,
    dead_letter_key,
    gone_key,
    letter_key,
)
from runtime.outbox import retry
from runtime.outbox.propose import propose
from runtime.store import dead_letters, notifications
from runtime.store.run_tx import RunTx

_OF_RUN = {
    "run.started": EventName.RUN_STARTED,
    "run.needs_attention": EventName.RUN_NEEDS_ATTENTION,
    "run.succeeded": EventName.RUN_COMPLETED,
    "run.failed_terminal": EventName.RUN_FAILED,
    "run.canceled": EventName.RUN_CANCELED,
}
_STEP_OVER = frozenset({"step.failed_terminal", "step.failed_handled", "step.needs_attention", "step.canceled"})


@dataclass(frozen=True)
class Event:
    """Something that came about with a leaf; `status` is where that stands now what it is about."""

    name: EventName
    status: str
    leaf: Leaf


def events_in(leaves: Sequence[Leaf]) -> Iterator[Event]:
    """Yield what came about with the leaves of one transaction, in their order."""
    over = {leaf.correlation.step: leaf.seq for leaf in leaves if leaf.event in _STEP_OVER}
    for leaf in leaves:
        word = leaf.event.rpartition(".")[2]
        if name := _OF_RUN.get(leaf.event):
            yield Event(name, word, leaf)
        elif leaf.event == APPROVAL_REQUESTED:
            yield Event(EventName.APPROVAL_REQUESTED, word, leaf)
        elif leaf.event in APPROVAL_ENDED:
            yield Event(EventName.APPROVAL_DECIDED, word, leaf)
        elif leaf.event == VOTE_COUNTED and "break_glass" in leaf.data:
            yield Event(EventName.BREAK_GLASS_USED, str(leaf.data["verdict"]), leaf)
        elif leaf.event == RECEIPT_WRITTEN and _has_settled(leaf, over):
            yield Event(EventName.EFFECT_SETTLED, str(leaf.data["outcome"]), leaf)


def _has_settled(leaf: Leaf, over: dict[str | None, int]) -> bool:
    """Return whether the receipt of a step's effect is its last: a success, or the end of the step with it."""
    step, outcome = leaf.correlation.step, leaf.data["outcome"]
    if step is None or outcome == "in_doubt":
        return False
    return outcome == "success" or over.get(step, 0) > leaf.seq


log = logging.getLogger(__name__)

LASTS = timedelta(days=3)
"""How long a delivery that is never taken is tried."""
_PAUSES = tuple(timedelta(seconds=seconds) for seconds in (5, 60, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 10 * 3600))
_RETRY = retry.to_document(Retry(len(_PAUSES) + 1, "exponential", _PAUSES[0], _PAUSES[-1], ladder=_PAUSES))
_TIMEOUT = 15.0
MOST_LETTERS = 20
"""Dead letters of one subscription that nobody has looked at: the last of them ends it, as a 410 does."""
_COUNTED = timedelta(days=7)
"""How long a dead letter counts as one of these."""


async def tell_subscribers(engine: Engine, tx: RunTx) -> None:
    """Propose a delivery of each event of this transaction for each subscription that is for it."""
    theirs = [one for one in engine.subscriptions if one.where.fits_run(tx.row["definition_name"])]
    if not theirs:
        return
    for event in list(events_in([written.leaf for written in tx.leaves])):
        if wanted := [one for one in theirs if event.name in one.on]:
            await _tell(engine, tx, event, wanted)


async def _tell(engine: Engine, tx: RunTx, event: Event, wanted: list[Subscription]) -> None:
    about = await _about(tx, event)
    for one in wanted:
        if not one.where.fits_step(about.get("verb", ""), Tier(about["tier"]) if "tier" in about else None):
            continue
        if await dead_letters.has_dead_letter(tx.conn, tx.tenant, one.gone_key):
            continue
        await propose(engine, tx, [_delivery(engine, tx, event, about, one)], tx.now + LASTS)


async def _about(tx: RunTx, event: Event) -> dict[str, str]:
    """Return which step, verb, tier, approval and effect an event is about, as far as it is about one."""
    about = event.leaf.correlation
    approval = await tx.loads.approval(about.approval_id) if about.approval_id else None
    step = about.step or (approval.step if approval else None)
    verb = (await tx.definition()).calls(step) if step else None
    tier = approval.tier if approval else verb.tier if verb else None
    found = {
        "step": step,
        "verb": verb.name if verb else None,
        "tier": str(tier) if tier else None,
        "approval": about.approval_id,
        "effect": about.effect_id or (approval.effect_id if approval else None),
    }
    return {name: value for name, value in found.items() if value} if event.name.is_of_step else {}


def _data(engine: Engine, tx: RunTx, event: Event, about: dict[str, str]) -> dict[str, object]:
    return {
        "tenant": tx.tenant,
        "run": tx.run_id,
        "runbook": tx.row["definition_name"],
        "version": tx.row["definition_version"],
        "status": event.status,
        **about,
        **({"mocked": True} if engine.mocked else {}),
    }


def _delivery(engine: Engine, tx: RunTx, event: Event, about: dict[str, str], to: Subscription) -> NewEffect:
    said = {"type": event.name.value, "timestamp": event.leaf.at, "data": _data(engine, tx, event, about)}
    key = f"webhook:{tx.run_id}:{event.leaf.seq}:{to.name}"
    return NewEffect(
        effect_id=engine.new_id("eff"),
        dedupe_key=dedupe_key("webhook", tx.run_id, key),
        purpose=Purpose.MESSAGE,
        step="",
        connector=CONNECTOR,
        operation=OPERATION,
        target=to.target,
        fields={"subscription": to.name, "configuration": to.digest, "said": said},
        tier=Tier.LOW,
        reversible_by=None,
        redact=(),
        forgotten=None,
        idempotency_key=key,
        on_doubt=OnDoubt.RETRY,
        correlation_key="",
        timeout_s=_TIMEOUT,
        settles_s=30,
        retry=_RETRY,
    )


async def send_again(engine: Engine, tx: RunTx, failed: Effect, to: Subscription) -> str:
    """Propose a delivery that failed anew, under the same key, as the subscription is now; return the effect's id."""
    new = NewEffect(
        **{
            **{name: getattr(failed, name) for name in NewEffect.__dataclass_fields__ if name != "dedupe_key"},
            "effect_id": engine.new_id("eff"),
            "dedupe_key": dedupe_key("webhook again", failed.effect_id),
        }
    )
    fields = {**failed.fields, "configuration": to.digest}
    await propose(engine, tx, [replace(new, target=to.target, fields=fields)], tx.now + LASTS)
    return new.effect_id


async def dead_letter(engine: Engine, tx: RunTx, failed: Effect, why: str, *, ends: bool) -> None:
    """Make a dead letter of a delivery that is tried no more; one that `ends` the subscription is the last.

    A receiver that is gone, and what policy or our own rules refuse, would refuse each event alike. A delivery that
    was under way then gets no letter: requeuing the last letter sends it, too.
    """
    name, configuration = str(failed.fields["subscription"]), str(failed.fields["configuration"])
    gone = gone_key(name, configuration)
    key, end = await _key_of(tx, name, configuration, ends=ends)
    payload = DeliveryPayload(run_id=tx.run_id, effect_id=failed.effect_id, subscription=name)
    dedupe = letter_key(failed.effect_id)
    if key == gone:  # one for all that end it at this moment, here or in other transactions
        dedupe = letter_key(f"{tx.tenant}:{gone}:{await dead_letters.count_all(tx.conn, tx.tenant, gone)}")
    letter = engine.notification(payload, by=PROGRAM, about=key, key=dedupe, request_id=tx.request_id)
    has_ended = await dead_letters.has_dead_letter(tx.conn, tx.tenant, gone)
    if has_ended or not await notifications.record_all(tx.conn, [letter], tx.now, tx.now):
        log.warning("delivery %s is not sent, webhook %s has ended: %s", failed.effect_id, name, why)
        return
    log.warning("delivery %s is a dead letter: webhook %s: %s%s", failed.effect_id, name, why, end)
    facts = {"status": str(NotificationStatus.DEAD_LETTER), "reason": f"webhook {name}: {why}{end}"}
    await notifications.mark(tx.conn, letter.notification_id, NotificationStatus.DEAD_LETTER, facts, tx.now)


async def _key_of(tx: RunTx, name: str, configuration: str, *, ends: bool) -> tuple[str, str]:
    """Return the key of a subscription's next dead letter, and what is said where it is one too many, else ""."""
    if ends:
        return gone_key(name, configuration), ""
    key = dead_letter_key(name, configuration)
    if (
        await dead_letters.count_dead_letters(tx.conn, tx.tenant, key, tx.now - _COUNTED, MOST_LETTERS)
        < MOST_LETTERS - 1
    ):
        return key, ""
    end = f"; it is the {MOST_LETTERS}th within {_COUNTED.days} days that nobody has looked at: nothing more is sent"
    return gone_key(name, configuration), end
