"""What the bot sees of the front door: runs and requests that a person may see, and the counter that shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from runtime.model.actor import Person, SlackAccount
from runtime.model.finding import FoundRun
from runtime.model.votes import RefusalCode
from runtime.services.approval_view import ApprovalView
from runtime.services.home_model import HomeDesk
from runtime.services.standing_in import StandInWish


@dataclass(frozen=True)
class StepLine:
    """A step of a run: its path or what it does, its status, and its error, or why it is done later; "" for neither."""

    name: str
    status: str
    error: str


@dataclass(frozen=True)
class RunView:
    """A run as a command shows it; `ending` is what it came to, or how it stands; `runbook` is name and version.

    `steps` are all of it for operators, and for others those that go on, are held or failed.
    """

    run_id: str
    reference: str
    runbook: str
    ending: str
    error: str
    requested_by: str
    created_at: datetime
    finished_at: datetime | None
    steps: Sequence[StepLine]
    link: str = ""  # of our own, to pass on; "" where browsers do not reach us
    done: int = 0  # steps that have ended
    total: int = 0  # steps that there are by now


@dataclass(frozen=True)
class Runs:
    """Runs, the newest first, and whether there are more."""

    runs: Sequence[FoundRun]
    has_more: bool


@dataclass(frozen=True)
class Form:
    """A runbook that a person may start, in the version that starts now; `schema` is its trigger's."""

    name: str
    version: int
    title: str
    description: str
    trigger_type: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Filled:
    """A form as it was submitted. `form_id` is equal for deliveries of the same submission."""

    form_id: str
    runbook: str
    version: int
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Started:
    """The run that a form started, or to which it was sent as a signal of this name ("" for none)."""

    run_id: str
    signal: str


class FormError(Exception):
    """A form started nothing; `faults` says why, by the name of the property, "" for what is of no single one."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = faults


class FrontDesk(Protocol):
    """The counter of the front door. What a person may not see is as if it were not there.

    A person sees what they asked for, and what their groups may decide, open or not; operators see everything.
    """

    @property
    def home(self) -> HomeDesk:
        """Return the counter of people's desks."""
        ...

    async def approval(self, person: Person, approval_id: str) -> ApprovalView | None:
        """Return a request that the person may see."""
        ...

    async def run(self, person: Person, run_id: str) -> RunView | None:
        """Return a run that the person may see."""
        ...

    async def mine(self, person: Person, limit: int, after: str | None = None) -> Runs:
        """Return the runs that the person asked for; those behind the run `after`, if that is given."""
        ...

    async def search(self, person: Person, words: str, limit: int, after: str | None = None) -> Runs:
        """Return the runs that the person may see with these words in reference, trigger or the runbook's name."""
        ...

    async def refused(self, account: SlackAccount, command: str, code: RefusalCode) -> None:
        """Put on record that a command was refused: once for each account, command and code."""
        ...

    async def forms(self, person: Person) -> Sequence[Form]:
        """Return the runbooks that the person may start."""
        ...

    async def start(self, person: Person, filled: Filled) -> Started:
        """Start a run for the person, or return the one that this form started before; raise FormError."""
        ...

    async def stand_in(self, person: Person, wish: StandInWish) -> str:
        """Write down who is to vote for the person, durably; return the notification's id."""
        ...

    async def settled(self, notification_id: str) -> str:
        """Apply what is written down, at most once; return why nothing was done, "" where it was."""
        ...
