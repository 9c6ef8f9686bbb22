"""The ledger of cards: where each stands, to be edited after a restart, and what it showed, for evidence."""

from typing import Any

from receipts.canonical import digest, dumps
from receipts.chain import CARD_SHOWN, MAX_CARD
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.model.states import ApprovalStatus
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.cards import Location, approval_at, location_of, remember_card, title_of
from runtime.store.run_tx import RunTx


class StoredCards:
    """Where cards are remembered: rows, so that they can be edited after a restart and shown in evidence.

    `copy_at` says which: the copy that went to that place; None for the card under which the thread is.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def location(self, approval_id: str, copy_at: str | None = None) -> Location | None:
        """Return (channel, ts) of the approval's card, or of a copy; None where there is none."""
        async with self.engine.pool.connection() as conn:
            return await location_of(conn, approval_id, copy_at)

    async def title(self, approval_id: str) -> str:
        """Return what the author of a request calls it, as its card was made; "" where it has no title."""
        async with self.engine.pool.connection() as conn:
            return await title_of(conn, approval_id)

    async def remember(self, approval_id: str, channel: str, ts: str, card: Any, copy_at: str | None = None) -> None:
        """Keep where the card stands and the exact JSON that was shown, whose digest is on the run's chain."""
        if (size := len(dumps(card))) > MAX_CARD:
            raise ValueError(f"a card has {size} bytes, and may have {MAX_CARD}")
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is None:
            raise LookupError(f"no approval {approval_id}")

        async def work(tx: RunTx) -> None:
            if await remember_card(tx.conn, approval_id, (channel, ts), copy_at, card):
                tx.leaf(
                    CARD_SHOWN,
                    {"approval_id": approval_id, "digest": digest(card)},
                    step=approval.step,
                    approval_id=approval_id,
                    effect_id=approval.effect_id,
                )
            if copy_at is None and approval.card_ts is None:
                await messages.tell_opened(self.engine, tx, approval)
            at(Point.CARD_REMEMBERING)

        await self.engine.on_run(approval.run_id, work)

    async def lost(self, approval_id: str, channel: str, ts: str) -> None:
        """Ask for another card in the place of one that is not there any more; once for each that was lost."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is None or approval.status is not ApprovalStatus.REQUESTED:
            return
        async with self.engine.run_tx(approval.run_id) as tx:
            await messages.card_outdated(self.engine, tx, approval, f"lost:{channel}:{ts}")
        self.engine.wakeup.poke()

    async def standing_at(self, channel: str, ts: str) -> str | None:
        """Return the approval whose card, or a copy of it, is that message."""
        async with self.engine.pool.connection() as conn:
            return await approval_at(conn, self.engine.tenant, (channel, ts))

    async def tampered(self, approval_id: str, account: str, edit: str) -> None:
        """Have a card put back that somebody else edited, and tell operators and those who are asked; once per edit."""
        async with self.engine.pool.connection() as conn:
            approval = await approvals.get_approval(conn, approval_id)
        if approval is not None:
            async with self.engine.run_tx(approval.run_id) as tx:
                await messages.card_tampered(self.engine, tx, approval, account, edit)
            self.engine.wakeup.poke()
