"""Delivery preferences: quiet hours, relevance and batching, decided just before somebody is told something."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from receipts.canonical import digest
from runtime.engine import Engine
from runtime.model.delivery import (
    AnswerTurn,
    DeliveryTurn,
    GatheredMessage,
    Gathering,
    Notice,
    NotNeeded,
    Rank,
    SendAlone,
    SendLater,
)
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal
from runtime.services.links import request_link
from runtime.store import direct_messages as telling
from runtime.store import directory
from runtime.store.approvals import get_approval
from runtime.store.direct_messages import notices_of


@dataclass(frozen=True)
class DeliveryPreferences:
    """Whether somebody may be told something now, and what was gathered for them.

    `may_decide` returns why a person may not decide a request, or None (`ApprovalService.may_decide`).
    """

    engine: Engine
    tenant: str
    may_decide: Callable[[str, str], Awaitable[Refusal | None]]

    async def take_turn(self, notice: Notice) -> DeliveryTurn:
        """Return how a message is to be said, and count it; asked again of the same, it is counted once."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn:
            [notices] = await notices_of(conn, [(self.tenant, notice.account)])
            approval = await get_approval(conn, notice.card_of) if notice.card_of and notices.is_ever_quiet else None
        if await self._is_needless(notice):
            return NotNeeded()
        if notice.rank is Rank.ALARM:
            return SendAlone()
        first = notices.from_when(now, approval.tier if approval else None)
        if first > now:
            return SendLater(first)
        if notices.per_hour is None or notice.rank.is_alone:
            return SendAlone()
        async with self.engine.pool.connection() as conn, conn.transaction():
            new_id = self.engine.new_id("gat")
            return await telling.take_turn(conn, self.tenant, notice, notices.per_hour, new_id, now)

    async def _is_needless(self, notice: Notice) -> bool:
        """Return whether it asks the person to decide what they may not, or not any more."""
        if notice.card_of is None or not notice.asks:
            return False
        async with self.engine.pool.connection() as conn:
            behind = await directory.people_behind(conn, self.tenant, [notice.account])
            approval = await get_approval(conn, notice.card_of)
        if not behind or approval is None:
            return True
        fell_back_to = set(approval.route.fallback)
        if approval.status is ApprovalStatus.REQUESTED and fell_back_to & set(behind[0][2].groups):
            return False  # it went to them, too, whether policy lets them decide it or not
        return await self.may_decide(notice.card_of, behind[0][2].id) is not None

    async def gathering(self, gathering_id: str) -> Gathering | None:
        """Return what is gathered, as it is now; None of what is long over."""
        async with self.engine.pool.connection() as conn:
            found = await telling.find_gathering(conn, self.tenant, gathering_id)
        return found and replace(found, items=[self._linked(item) for item in found.items])

    def _linked(self, item: GatheredMessage) -> GatheredMessage:
        return replace(item, link=request_link(self.engine.routing.public_url, item.card_of)) if item.card_of else item

    async def posted(self, gathering_id: str, channel: str, ts: str) -> None:
        """Keep where a gathering stands."""
        async with self.engine.pool.connection() as conn:
            await telling.keep_place(conn, self.tenant, gathering_id, channel, ts)

    async def begin_answer(self, account: str, occasion: str, words: str) -> AnswerTurn:
        """Begin a private answer to an account, unless a process has; `occasion` is what it answers."""
        key, now = _answer(account, occasion, words), self.engine.clock()
        async with self.engine.pool.connection() as conn:
            return await telling.begin_answer(conn, self.tenant, key, account, now)

    async def end_answer(self, account: str, occasion: str, words: str, *, is_given: bool) -> None:
        """Keep that a private answer was given, or that it was not and may be begun again."""
        async with self.engine.pool.connection() as conn:
            await telling.end_answer(conn, self.tenant, _answer(account, occasion, words), is_given=is_given)


def _answer(account: str, occasion: str, words: str) -> str:
    """Return the key of a private answer; what it says is not kept."""
    return f"answer:{digest([account, occasion, words])}"
