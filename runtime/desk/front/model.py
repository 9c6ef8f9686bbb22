"""What the bot sees of the front door: runs and requests that a person may see, and the counter that shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from runtime.desk.model import ApprovalView
from runtime.model.actor import Person, SlackAccount
from runtime.model.approval import RefusalCode
from runtime.model.finding import FoundRun


@dataclass(frozen=True)
class StepLine:
    """A step of a run: its path, its status, and its error, "" for none."""

    path: str
    status: str
    error: str


@dataclass(frozen=True)
class RunView:
    """A run as a command shows it; `ending` is what it came to, or how it stands; `runbook` is name and version."""

    run_id: str
    reference: str
    runbook: str
    ending: str
    error: str
    requested_by: str
    created_at: datetime
    finished_at: datetime | None
    steps: Sequence[StepLine]


@dataclass(frozen=True)
class Runs:
    """Runs, the newest first, and whether there are more."""

    runs: Sequence[FoundRun]
    has_more: bool


class FrontDesk(Protocol):
    """The counter of the front door. What a person may not see is as if it were not there.

    A person sees what they asked for, and what their groups may decide, open or not; operators see everything.
    """

    async def approval(self, person: Person, approval_id: str) -> ApprovalView | None:
        """Return a request that the person may see."""
        ...

    async def run(self, person: Person, run_id: str) -> RunView | None:
        """Return a run that the person may see."""
        ...

    async def mine(self, person: Person, limit: int) -> Runs:
        """Return the runs that the person asked for."""
        ...

    async def search(self, person: Person, words: str, limit: int) -> Runs:
        """Return the runs that the person may see with these words in reference, trigger or the runbook's name."""
        ...

    async def refused(self, account: SlackAccount, command: str, code: RefusalCode) -> None:
        """Put on record that a command was refused: once for each account, command and code."""
        ...
