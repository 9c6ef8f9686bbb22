"""Reads what the rules need of many requests: one statement for all that is asked at once, and nothing twice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from runtime.model.approval import Approval
from runtime.model.delegation import Account, StandIn
from runtime.model.questions import Question
from runtime.model.votes import Vote
from runtime.store import approvals, directory
from runtime.store.batches import Batches
from runtime.store.database.pool import Conn
from runtime.store.delegations import stand_ins_of
from runtime.store.questions import questions_of_all

_MOST = 1000


class Reader:
    """The reads of one moment, on one connection of a tenant."""

    def __init__(self, conn: Conn, tenant: str) -> None:
        self.conn = conn
        self.tenant = tenant
        self.approval: Batches[str, Approval | None]
        self.approval = Batches(partial(approvals.get_approvals, conn), most=_MOST, at_once=1)
        self.row: Batches[str, dict[str, Any] | None]
        self.row = Batches(partial(approvals.approval_view_rows, conn), most=_MOST, at_once=1)
        self.votes: Batches[str, list[Vote]]
        self.votes = Batches(partial(approvals.counted_votes, conn), most=_MOST, at_once=1)
        self.questions: Batches[str, list[Question]]
        self.questions = Batches(partial(questions_of_all, conn), most=_MOST, at_once=1)
        self._kept: dict[Any, asyncio.Future[Any]] = {}

    async def once(self, key: Any, read: Callable[[], Awaitable[Any]]) -> Any:
        """Return what was read under a key, which names what it is; the first who asks reads it."""
        if key not in self._kept:
            self._kept[key] = asyncio.ensure_future(read())
        return await self._kept[key]

    async def actor(self, actor_id: str) -> dict[str, Any] | None:
        """Return somebody of the directory, or None."""
        found: dict[str, Any] | None = await self.once(
            ("actor", actor_id), lambda: directory.actor(self.conn, self.tenant, actor_id)
        )
        return found

    async def accounts(self, actor_id: str) -> Sequence[Account]:
        """Return somebody's Slack accounts."""
        found: Sequence[Account] = await self.once(
            ("accounts", actor_id), lambda: directory.accounts_of(self.conn, self.tenant, actor_id)
        )
        return found

    async def stand_ins(self, actor_id: str, now: datetime) -> Sequence[StandIn]:
        """Return for whom somebody may vote now."""
        found: Sequence[StandIn] = await self.once(
            ("stand_ins", actor_id, now), lambda: stand_ins_of(self.conn, self.tenant, actor_id, now)
        )
        return found
