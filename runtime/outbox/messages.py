"""The effects that the system itself sends to the chat: cards, their edits, the thread's story, word to the requester.

They are rows in the outbox like any other and pass the same gate.
"""

from datetime import datetime, timedelta
from typing import Any

from runtime.definitions.model import Retry
from runtime.engine import Engine
from runtime.model.effect import NewEffect
from runtime.outbox import retry
from runtime.outbox.action import dedupe_key, make_action
from runtime.outbox.propose import propose
from runtime.store import approvals, directory
from runtime.store.run_tx import RunTx

_RETRY = retry.to_document(Retry(100_000, "exponential", timedelta(seconds=2), timedelta(minutes=2)))
"""A chat that is away is tried until the effect's deadline: for a card, that is as long as its approval is open."""


async def post_card(engine: Engine, tx: RunTx, approval_id: str, groups: tuple[str, ...], until: datetime) -> None:
    """Ask for a card, which is worth posting as long as the approval is open."""
    channel = engine.routing.channel(groups)
    fields = {"approval_id": approval_id, "channel": channel}
    await _send(engine, tx, "post_card", channel, fields, f"card:{approval_id}", "reconcile", until)


async def card_changed(engine: Engine, tx: RunTx, approval_id: str) -> None:
    """Ask for the card to be edited to what is true now."""
    approval = await approvals.get_approval(tx.conn, approval_id)
    if approval is not None:
        fields = {"approval_id": approval_id, "revision": approval.revision}
        key = f"card:{approval_id}:{approval.revision}"
        channel = approval.channel or engine.routing.channel(tuple(approval.requirement["groups"]))
        await _send(engine, tx, "update_card", channel, fields, key, "retry")


async def tell_thread(engine: Engine, tx: RunTx, approval_id: str | None, name: str, text: str) -> None:
    """Add a sentence to the card's thread, or to the default channel where there is no card; `name` makes it once."""
    approval = await approvals.get_approval(tx.conn, approval_id) if approval_id else None
    channel = (approval and approval.channel) or engine.routing.default_channel
    fields = {"channel": channel, "text": text, "thread_of": approval_id}
    await _send(engine, tx, "post_message", channel, fields, f"say:{tx.run_id}:{name}", "reconcile")


async def tell_requester(engine: Engine, tx: RunTx, name: str, text: str) -> None:
    """Tell the person who asked, if they have a Slack account."""
    accounts = await directory.accounts_of(tx.conn, tx.tenant, tx.row["requested_by"])
    await _tell(engine, tx, [user for _, user in accounts], name, text)


async def tell_groups(engine: Engine, tx: RunTx, groups: list[str], name: str, text: str) -> None:
    """Tell every person of the groups who has a Slack account."""
    await _tell(engine, tx, await directory.accounts_in_groups(tx.conn, tx.tenant, groups), name, text)


async def _tell(engine: Engine, tx: RunTx, users: list[str], name: str, text: str) -> None:
    for user in users:
        fields = {"user": user, "text": text}
        await _send(engine, tx, "direct_message", user, fields, f"dm:{tx.run_id}:{name}:{user}", "reconcile")


async def _send(
    engine: Engine,
    tx: RunTx,
    operation: str,
    target: str,
    fields: dict[str, Any],
    key: str,
    in_doubt: str,
    give_up_at: datetime | None = None,
) -> None:
    idempotency_key = f"slack:{key}"
    action = make_action(
        connector="slack",
        operation=operation,
        target=target,
        fields=fields,
        idempotency_key=idempotency_key,
        tier="low",
        reversible_by=None,
        pointers=(),
        salt=tx.row["salt"],
    )
    effect = NewEffect(
        effect_id=engine.new_id("eff"),
        dedupe_key=dedupe_key("chat", tx.run_id, key),
        step="",
        connector="slack",
        operation=operation,
        target=target,
        fields=fields,
        tier="low",
        reversible_by=None,
        redact=(),
        idempotency_key=idempotency_key,
        in_doubt=in_doubt,
        digest=action.digest,
        correlation_key="",
        timeout_s=15,
        retry=_RETRY,
    )
    await propose(engine, tx, [effect], give_up_at)
