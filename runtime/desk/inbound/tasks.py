"""Reviews by HTTP and by command: who may see them, and what a person says about one, brought by a caller or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.chain import Actor
from runtime.desk.callers import AnswerConflictError
from runtime.desk.desk import view_of
from runtime.desk.inbound.said import Said, payload_of
from runtime.desk.model import ApprovalView
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.approvals.approval import AskKind
from runtime.model.approvals.votes import Via
from runtime.model.notification.notification import Notification, word_key
from runtime.store import approvals, directory
from runtime.store.database.pool import Conn
from runtime.store.tasks import NOBODY, SoughtTasks, find_tasks
from runtime.store.tenant.rows import is_mocked

__all__ = ["NOBODY", "SoughtTasks", "TaskDesk", "list_tasks", "show_task"]


async def list_tasks(conn: Conn, tenant: str, sought: SoughtTasks, now: datetime) -> list[ApprovalView]:
    """Return the open reviews that are sought, the first to expire first."""
    mocked = await is_mocked(conn, tenant)
    return [view_of(row, [], mocked=mocked) for row in await find_tasks(conn, tenant, sought, now)]


async def show_task(conn: Conn, tenant: str, task_id: str) -> ApprovalView | None:
    """Return a review of the tenant as it is now, open or not, or None."""
    row = await approvals.approval_view_row(conn, task_id)
    if row is None or row["tenant"] != tenant or row["kind"] != AskKind.TASK:
        return None
    return view_of(row, await approvals.votes_of(conn, task_id), mocked=await is_mocked(conn, tenant))


@dataclass(frozen=True)
class TaskDesk:
    """The desk at which callers of the edge bring what people say; they may for whom the directory says so alone."""

    engine: Engine
    tenant: str

    async def list(self, sought: SoughtTasks) -> list[ApprovalView]:
        """Return the open reviews that are sought."""
        async with self.engine.pool.connection() as conn:
            return await list_tasks(conn, self.tenant, sought, self.engine.clock())

    async def show(self, task_id: str, person: str) -> ApprovalView | None:
        """Return a review that a person is asked, or has answered; None for any other."""
        async with self.engine.pool.connection() as conn:
            view = await show_task(conn, self.tenant, task_id)
            who = await directory.actor(conn, self.tenant, person)
        if view is None or who is None or who["kind"] != "person":
            return None
        asked = {*view.groups, *view.joined}
        return view if asked & set(who["groups"]) else None

    async def bring(self, caller: str, ref: str, said: Said) -> Mapping[str, Any]:
        """Record what a person says, brought by a caller, and apply it; return the facts of its outcome.

        The same ref is applied once. Raise AnswerConflictError where it was used for something else.
        """
        new = Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            dedupe_key=word_key("task", self.tenant, caller, ref),
            correlation_key=f"approval:{said.task_id}",
            payload=payload_of(said, Via.EDGE, caller),
            actor=Actor(id=said.person, kind="person"),
            request_id=self.engine.new_id("req"),
        )
        notification_id = await inbox.record(self.engine, new)
        if notification_id != new.notification_id:
            first = (await self.engine.addressed(notification_id)).notification
            if not first.forgotten and first.payload != new.payload:
                raise AnswerConflictError("this ref was used before, for something else; each has a ref of its own")
        return await inbox.apply(self.engine, notification_id)
