"""A front door for a bot of which nobody asks anything; refusals are kept."""

from dataclasses import dataclass, field

from runtime.model.person import Person, SlackAccount
from runtime.model.votes import RefusalCode
from runtime.services.approval_view import ApprovalView
from runtime.services.delegations import StandInWish
from runtime.services.home import HomeDesk
from runtime.services.requests import Filled, Form, Runs, RunView, Started


@dataclass
class NoFront:
    """A front door at which there is nothing to see."""

    home: HomeDesk
    refusals: list[tuple[SlackAccount, str, RefusalCode]] = field(default_factory=list)

    async def approval(self, person: Person, approval_id: str) -> ApprovalView | None:
        assert person, approval_id
        return None

    async def run(self, person: Person, run_id: str) -> RunView | None:
        assert person, run_id
        return None

    async def mine(self, person: Person, limit: int, after: str | None = None) -> Runs:
        assert person, (limit, after)
        return Runs((), has_more=False)

    async def search(self, person: Person, words: str, limit: int, after: str | None = None) -> Runs:
        assert person, (words, limit, after)
        return Runs((), has_more=False)

    async def refused(self, account: SlackAccount, command: str, code: RefusalCode) -> None:
        self.refusals.append((account, command, code))

    async def forms(self, person: Person) -> list[Form]:
        assert person
        return []

    async def start(self, person: Person, filled: Filled) -> Started:
        raise AssertionError(f"nothing here can be started: {person} {filled}")

    async def stand_in(self, person: Person, wish: StandInWish) -> str:
        raise AssertionError(f"nobody here is away: {person} {wish}")

    async def settled(self, notification_id: str) -> str:
        raise AssertionError(f"nobody here is away: {notification_id}")
