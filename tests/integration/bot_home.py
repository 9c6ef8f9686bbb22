"""The desks of people, for a bot on a stage: what waits by the rules of the stage's own desk, and nothing else."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.model.search import Page
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal
from runtime.services.approval_view import ApprovalView
from runtime.services.home import AskedFor, Choices, Entry, HomeStanding, Look, Waiting


@dataclass
class MemoryHomes:
    """The counter of people's desks."""

    approvals: Mapping[str, ApprovalView]
    cards: Mapping[str, list[tuple[str, str, Any]]]
    may_decide: Callable[[str, str], Awaitable[Refusal | None]]

    def _entry(self, view: ApprovalView) -> Entry:
        known = self.cards.get(view.approval_id)
        return Entry(view, known[-1][:2] if known else None)

    async def waiting(self, person_id: str, look: Look) -> Waiting:
        open_ = [one for one in self.approvals.values() if one.status is ApprovalStatus.REQUESTED]
        mine = [self._entry(one) for one in open_ if await self.may_decide(one.approval_id, person_id) is None]
        return Waiting(len(mine), Page(mine[: look.limit], has_before=False, has_after=False))

    async def asked_for(self, person_id: str, look: Look) -> Page[AskedFor]:
        raise AssertionError(f"nobody here has asked for anything: {person_id} {look}")

    async def decided(self, person_id: str, look: Look) -> Page[Entry]:
        raise AssertionError(f"nothing here is looked back at: {person_id} {look}")

    async def choices(self, person_id: str) -> Choices:
        return Choices([], [person_id])

    async def requests(self, approval_ids: Any) -> list[Entry]:
        raise AssertionError(f"nothing here is decided at once: {approval_ids}")

    async def may_decide_all(self, person_id: str, approval_ids: Any) -> list[HomeStanding]:
        raise AssertionError(f"nothing here is decided at once: {person_id} {approval_ids}")
