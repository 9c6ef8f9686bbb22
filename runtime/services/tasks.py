"""Reviews by HTTP and by command: who may see them, and what a person says about one, brought by a caller or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.approval import AskKind
from runtime.model.notification import dedupe_key_of
from runtime.model.votes import Via
from runtime.services.approval_rows import view_of
from runtime.services.approval_view import ApprovalView
from runtime.services.callers import Grants, grants_of
from runtime.services.review_answers import ReviewAnswer, answer_payload
from runtime.store import approvals, directory
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn
from runtime.store.request_lists import NOBODY, SoughtTasks, find_tasks
from runtime.store.tenants import is_mocked

__all__ = [
    "NOBODY",
    "SoughtTasks",
]


async def list_tasks(conn: Conn, tenant: str, sought: SoughtTasks, now: datetime) -> list[ApprovalView]:
    """Return the open reviews that are sought, the first to expire first."""
    mocked = await is_mocked(conn, tenant)
    return [view_of(row, [], mocked=mocked) for row in await find_tasks(conn, tenant, sought, now)]


async def show_task(conn: Conn, tenant: str, task_id: str) -> ApprovalView | None:
    """Return a review of the tenant as it is now, open or not, or None."""
    row, votes, mocked = await at_once(
        approvals.approval_view_row(conn, task_id), approvals.votes_of(conn, task_id), is_mocked(conn, tenant)
    )
    if row is None or row["tenant"] != tenant or row["kind"] != AskKind.TASK:
        return None
    return view_of(row, votes, mocked=mocked)


@dataclass(frozen=True)
class TaskService:
    """Callers of the edge bring what people say of reviews; they may for whom the directory says so alone."""

    engine: Engine
    tenant: str

    async def list(self, sought: SoughtTasks) -> list[ApprovalView]:
        """Return the open reviews that are sought."""
        async with self.engine.pool.connection() as conn:
            return await list_tasks(conn, self.tenant, sought, self.engine.clock())

    async def show(self, task_id: str, person: str) -> ApprovalView | None:
        """Return a review that a person is asked, or has answered; None for any other."""
        async with self.engine.pool.connection() as conn:
            view, who = await at_once(show_task(conn, self.tenant, task_id), directory.actor(conn, self.tenant, person))
        return _asked(view, who)

    async def show_to(self, caller: str, task_id: str, person: str) -> tuple[Grants | None, ApprovalView | None]:
        """Return what the directory lets a caller do, and what `show` returns, read together."""
        async with self.engine.pool.connection() as conn:
            view, who, agent = await at_once(
                show_task(conn, self.tenant, task_id),
                directory.actor(conn, self.tenant, person),
                directory.actor(conn, self.tenant, caller),
            )
        return grants_of(agent), _asked(view, who)

    async def bring(self, caller: str, ref: str, said: ReviewAnswer) -> Mapping[str, Any]:
        """Record what a person says, brought by a caller, and apply it; return the facts of its outcome.

        The same ref is applied once. Raise ConflictError where it was used for something else.
        """
        payload, by = answer_payload(said, Via.EDGE, caller), Actor(id=said.person, kind="person")
        key = dedupe_key_of("task", self.tenant, caller, ref)
        _, facts = await inbox.submit(self.engine, payload, by=by, about=f"approval:{said.task_id}", key=key)
        return facts


def _asked(view: ApprovalView | None, who: Mapping[str, Any] | None) -> ApprovalView | None:
    """Return a review that the person in a row of the directory is asked, None of any other."""
    if view is None or who is None or who["kind"] != "person":
        return None
    return view if {*view.groups, *view.joined} & set(who["groups"]) else None
