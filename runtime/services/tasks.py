"""Reviews by HTTP and by command: who may see them, and what a person says about one, brought by a caller or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.notification import dedupe_key_of
from runtime.model.votes import Via
from runtime.services.approval_rows import list_tasks, show_task
from runtime.services.approval_view import ApprovalView
from runtime.services.callers import Grants, grants_of
from runtime.services.review_answers import ReviewAnswer, answer_payload
from runtime.store import directory
from runtime.store.database.buffered_connection import at_once
from runtime.store.request_lists import NOBODY, SoughtTasks

__all__ = [
    "NOBODY",
    "SoughtTasks",
]


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
