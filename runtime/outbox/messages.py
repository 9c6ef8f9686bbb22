"""The effects that the system itself sends to the chat: cards, their edits, the thread's story, word to the requester.

They are rows in the outbox like any other and pass the same gate.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from receipts.fields import timestamp
from runtime.definitions.model import Retry
from runtime.engine import Engine
from runtime.model.action import Tier, dedupe_key
from runtime.model.approval import Approval, AskKind, NamedApproval, NewApproval, StandingChange
from runtime.model.chat_message import CardTampered, Message, RunName
from runtime.model.delivery import NOTHING_SAID, Notices, Rank, rank_of
from runtime.model.effect import NewEffect, OnDoubt, Purpose
from runtime.model.messages import (
    ApprovalOpened,
    DirectMessage,
    PostCard,
    PostMessage,
    Reminder,
    RepairClosed,
    RepairDone,
    Said,
    StandingChanged,
    StepNeedsAttention,
    UpdateCard,
    UpdateMessage,
)
from runtime.model.routing import is_person
from runtime.model.states import ApprovalStatus
from runtime.outbox import retry
from runtime.outbox.propose import propose
from runtime.store import directory
from runtime.store.electorate import outgrown_voters
from runtime.store.run_tx import RunTx
from runtime.store.step_repairs import StepRepairMessage

MOST_DIRECT = 10
"""People up to whom each gets a direct message; where there are more, their channel is told alone."""

_RETRY = retry.to_document(Retry(100_000, "exponential", timedelta(seconds=1), timedelta(minutes=2), factor=1.5))
"""A chat that is away is tried until the effect's deadline: for a card, that is as long as its approval is open."""


async def run_name(tx: RunTx) -> RunName:
    """Return the run as people know it."""
    definition = await tx.definition()
    return RunName(title=definition.title, reference=tx.row["reference"] or tx.row["trigger_ref"])


async def post_cards(engine: Engine, tx: RunTx, new: NewApproval, until: datetime) -> None:
    """Ask for cards, each worth posting as long as the approval is open; the thread will be under the first."""
    for place in new.route.places[:1]:
        card = PostCard(approval_id=new.approval_id, channel=place)
        first = await card_told(tx, place, new)
        key = f"card:{new.approval_id}"
        await _send(engine, tx, "post_card", place, card, key, OnDoubt.RECONCILE, until, first, is_new=True)
    await post_copies(engine, tx, new, until, is_new=True)


async def post_copies(engine: Engine, tx: RunTx, new: NewApproval, until: datetime, *, is_new: bool = False) -> None:
    """Ask for further cards of a request: each is a separate effect; `is_new` is as for `propose`."""
    moments = await asyncio.gather(*(card_told(tx, place, new) for place in new.route.copies))
    for place, first in zip(new.route.copies, moments, strict=True):
        card = PostCard(approval_id=new.approval_id, channel=place, is_copy=True)
        key = f"card:{new.approval_id}:{place}"
        await _send(engine, tx, "post_card", place, card, key, OnDoubt.RECONCILE, until, first, is_new=is_new)


async def card_changed(engine: Engine, tx: RunTx, approval_id: str) -> None:
    """Ask for all its cards to be edited to what is true now."""
    approval = await tx.loads.approval(approval_id)
    if approval is not None:
        await _edit_cards(engine, tx, approval, f"card:{approval_id}:{approval.revision}")


async def card_moved_on(engine: Engine, tx: RunTx, approval: Approval) -> None:
    """Ask for all its cards to be edited to a revision that this transaction makes: nobody can have asked before."""
    await _edit_cards(engine, tx, approval, f"card:{approval.approval_id}:{approval.revision}", is_new=True)


async def card_outdated(engine: Engine, tx: RunTx, approval: Approval, noticed: str) -> None:
    """Ask for its cards to be shown anew, because somebody saw an old one, or none; `noticed` makes it once."""
    await _edit_cards(engine, tx, approval, f"card:{approval.approval_id}:{approval.revision}:{noticed}")


async def card_tampered(engine: Engine, tx: RunTx, approval: Approval, account: str, edit: str) -> None:
    """Have its cards put back, and tell operators and those who are asked who edited one; `edit` makes it once."""
    await card_outdated(engine, tx, approval, f"edited:{edit}")
    behind = await directory.people_behind(tx.conn, tx.tenant, [account])
    who = behind[0][2].name if behind else f"The account {account}"
    said = CardTampered(run=await run_name(tx), step=approval.step, person=who)
    asked = approval.requirement.electorate(approval.joined) if approval.status is ApprovalStatus.REQUESTED else ()
    groups = sorted({*engine.routing.doubt_groups, *asked})
    await tell_groups(engine, tx, groups, f"edited:{edit}", said, approval.approval_id)


async def _edit_cards(engine: Engine, tx: RunTx, approval: Approval, key: str, *, is_new: bool = False) -> None:
    update = UpdateCard(approval_id=approval.approval_id, revision=approval.revision)
    if first := _thread_place(approval):
        await _send(engine, tx, "update_card", first, update, key, OnDoubt.RETRY, is_new=is_new)
    for place in approval.route.copies:
        copy = update.model_copy(update={"copy_at": place})
        await _send(engine, tx, "update_card", place, copy, f"{key}:{place}", OnDoubt.RETRY, is_new=is_new)


def _thread_place(approval: Approval) -> str | None:
    """Return where the card with the thread stands, or will; None of a request that has no card."""
    return approval.channel or next(iter(approval.route.places), None)


async def tell_thread(engine: Engine, tx: RunTx, approval_id: str | None, name: str, said: Said) -> None:
    """Say something in the card's thread, or to the default channel of no request; `name` makes it once.

    A request that has no card is talked about nowhere.
    """
    approval = await tx.loads.approval(approval_id) if approval_id else None
    channel = _thread_place(approval) if approval else engine.routing.default_channel
    if channel is None:
        return
    message = PostMessage(channel=channel, said=said, thread_of=approval_id)
    await _send(engine, tx, "post_message", channel, message, f"say:{tx.run_id}:{name}", OnDoubt.RECONCILE)


async def tell_thread_once(engine: Engine, tx: RunTx, approval: Approval, name: str, said: Said) -> None:
    """Say in the card's thread what is said for the first time: `name` is that of what is being applied."""
    if channel := _thread_place(approval):
        message = PostMessage(channel=channel, said=said, thread_of=approval.approval_id)
        key = f"say:{tx.run_id}:{name}"
        await _send(engine, tx, "post_message", channel, message, key, OnDoubt.RECONCILE, is_new=True)


async def tell_requester(
    engine: Engine, tx: RunTx, name: str, said: Said, card_of: str | None, *, is_new: bool = False
) -> None:
    """Tell the person who asked, with the way to the card of that approval; see `tell_person`."""
    await tell_person(engine, tx, tx.row["requested_by"], name, said, card_of, is_new=is_new)


async def tell_person(
    engine: Engine, tx: RunTx, person: str, name: str, said: Said, card_of: str | None, *, is_new: bool = False
) -> None:
    """Tell one person of the directory, if they have an active Slack account; `is_new` is as for `propose`."""
    await look_at_person(tx, person)
    for user, notices in tx.ahead[tx.tenant, person].items():
        await _tell_user(engine, tx, user, notices, name, said, card_of, is_new=is_new)


async def look_at_person(tx: RunTx, person: str) -> None:
    """Read how somebody is reached, once for all that they hear of: no transaction on a run changes that."""
    wanted = (tx.tenant, person)
    if wanted not in tx.ahead:
        await tx.look(wanted, tx.loads.reached(wanted))


async def tell_opened(engine: Engine, tx: RunTx, approval: Approval) -> None:
    """Tell the requester that people are asked; of a request with a card once that is there, since it is linked."""
    if approval.kind is AskKind.EFFECT and approval.status is ApprovalStatus.REQUESTED:
        voters = await outgrown_voters(tx.conn, approval.effect_id, approval.approval_id)
        said = await _opened(tx, approval, is_first=not voters)
        name = f"opened:{approval.approval_id}"
        await tell_requester(engine, tx, name, said, approval.approval_id)
        for voter in voters:
            await tell_person(engine, tx, voter, name, said, approval.approval_id)


async def _opened(tx: RunTx, approval: Approval, *, is_first: bool) -> ApprovalOpened | StandingChanged:
    """Return what is said of a new request; where it is not the first, policy asks for more than was approved."""
    run, until = await run_name(tx), timestamp(approval.expires_at)
    asked: dict[str, Any] = {
        "run": run,
        "step": approval.step,
        "groups": list(approval.requirement.electorate(approval.joined)),
        "quorum": approval.requirement.quorum,
        "until": until,
        "classes": [one.words for one in approval.requirement.classes],
    }
    return ApprovalOpened(**asked) if is_first else StandingChanged(change=StandingChange.OUTGROWN, **asked)


async def tell_accounts(
    engine: Engine, tx: RunTx, accounts: Sequence[tuple[str, str]], name: str, said: Said, card_of: str | None
) -> None:
    """Tell one person, by their Slack accounts (team, user)."""
    await tell_people(engine, tx, [user for _, user in accounts], name, said, card_of)


@dataclass(frozen=True)
class GroupsToTell:
    """Groups whose people are told by their Slack accounts."""

    groups: tuple[str, ...]


async def look_at_groups(tx: RunTx, groups: Sequence[str]) -> None:
    """Read ahead how the people of groups are reached who may hear of what follows."""
    told = GroupsToTell(tuple(groups))
    await tx.look(told, _accounts(tx, told))


async def _accounts(tx: RunTx, told: GroupsToTell) -> list[str]:
    return await directory.accounts_in_groups(tx.conn, tx.tenant, told.groups, tx.now)


async def tell_groups(
    engine: Engine,
    tx: RunTx,
    groups: Sequence[str],
    name: str,
    said: Said,
    card_of: str | None,
    *,
    is_new: bool = False,
) -> None:
    """Tell the groups: one message to each channel of theirs and, where they are few, one to each person as well.

    Every message is an effect with leaves of its own, written under the run's lock: a large group hears it once.
    `is_new` is as for `propose`.
    """
    for channel in dict.fromkeys(engine.routing.channel((group,)) for group in groups):
        message = PostMessage(channel=channel, said=said, card_of=card_of)
        key = f"say:{tx.run_id}:{name}:{channel}"
        await _send(engine, tx, "post_message", channel, message, key, OnDoubt.RECONCILE, is_new=is_new)
    accounts = await tx.once(partial(_accounts, tx), GroupsToTell(tuple(groups)))
    users = accounts if len(accounts) <= MOST_DIRECT else []
    await tell_people(engine, tx, users, name, said, card_of, is_new=is_new)


async def close_question(engine: Engine, tx: RunTx, asked: StepRepairMessage, then: RepairDone | RepairClosed) -> None:
    """Have a message that asks for a step's repair say what came of it; the first to say so is heard."""
    said = StepNeedsAttention.model_validate(asked.said)
    message = UpdateMessage(message=asked.effect_id, said=said, then=then)
    await _send(engine, tx, "update_message", asked.target, message, f"after:{asked.effect_id}", OnDoubt.RETRY)


async def tell_people(
    engine: Engine,
    tx: RunTx,
    users: Sequence[str],
    name: str,
    said: Said,
    card_of: str | None,
    *,
    is_new: bool = False,
) -> None:
    """Write to people by their Slack accounts, to each when their quiet hours are over; an alarm goes out at once."""
    for user in users:
        notices = NOTHING_SAID if _is_alarm(said) else await tx.loads.notices((tx.tenant, user))
        await _tell_user(engine, tx, user, notices, name, said, card_of, is_new=is_new)


def _is_alarm(said: Said) -> bool:
    return rank_of(said.kind, asks=False) is Rank.ALARM


async def _tell_user(
    engine: Engine,
    tx: RunTx,
    user: str,
    notices: Notices,
    name: str,
    said: Said,
    card_of: str | None,
    *,
    is_new: bool = False,
) -> None:
    message = DirectMessage(user=user, said=said, card_of=card_of)
    first, last = (None, None) if _is_alarm(said) else await _when_told(engine, tx, notices, card_of)
    # of several reminders that wait for the end of the same quiet hours, one goes out
    waits = isinstance(said, Reminder) and first is not None and first > tx.now
    key = f"dm:{tx.run_id}:{f'reminded:{card_of}:{timestamp(first)}' if waits and first else name}:{user}"
    await _send(engine, tx, "direct_message", user, message, key, OnDoubt.RECONCILE, last, first, is_new=is_new)


async def _when_told(
    engine: Engine, tx: RunTx, notices: Notices, card_of: str | None
) -> tuple[datetime, datetime] | tuple[None, None]:
    """Return from when until when it is tried to tell somebody who has quiet hours: they are not part of that time."""
    if not notices.is_ever_quiet:
        return None, None
    # its tier, which is all that is wanted of it, never changes
    approval = tx.ahead.get(NamedApproval(card_of)) or await tx.loads.approval(card_of) if card_of else None
    first, lasts = notices.from_when(tx.now, approval.tier if approval else None), engine.timing.effect_deadline
    last = notices.from_when(first + lasts, None)
    return first, last if last == first + lasts else last + lasts


async def card_told(tx: RunTx, place: str, new: NewApproval) -> datetime | None:
    """Return when the quiet hours of a person end, or None where a card may come now.

    So it may into a conversation, and where it asks about a doubt.
    """
    notices = await tx.loads.notices((tx.tenant, place)) if is_person(place) else NOTHING_SAID
    if not notices.is_ever_quiet or new.kind is AskKind.IN_DOUBT:
        return None
    first = notices.from_when(tx.now, new.tier)
    return first if first > tx.now else None


async def _send(
    engine: Engine,
    tx: RunTx,
    operation: str,
    target: str,
    message: Message,
    key: str,
    on_doubt: OnDoubt,
    give_up_at: datetime | None = None,
    not_before: datetime | None = None,
    *,
    is_new: bool = False,
) -> None:
    effect = NewEffect(
        effect_id=engine.new_id("eff"),
        dedupe_key=dedupe_key("chat", tx.run_id, key),
        purpose=Purpose.MESSAGE,
        step="",
        connector="slack",
        operation=operation,
        target=target,
        fields=message.model_dump(mode="json"),
        tier=Tier.LOW,
        reversible_by=None,
        redact=(),
        forgotten=None,
        idempotency_key=f"slack:{key}",
        on_doubt=on_doubt,
        correlation_key="",
        timeout_s=15,
        settles_s=30,
        retry=_RETRY,
    )
    await propose(engine, tx, [effect], give_up_at, not_before, is_new=is_new)
