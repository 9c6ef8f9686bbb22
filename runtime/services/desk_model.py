"""What the bot sees of the runtime: views to render, and clicks to hand in."""

from typing import Protocol

from runtime.model.actor import Person, SlackAccount
from runtime.model.votes import Refusal
from runtime.services.answers_model import AnswersDesk
from runtime.services.approval_view import ApprovalView
from runtime.services.clicks import Click, ClickOutcome
from runtime.services.editing_model import EditingDesk
from runtime.services.figures_model import FigureDesk
from runtime.services.held_model import HeldDesk
from runtime.services.links_model import LinkDesk
from runtime.services.notices_model import NoticeDesk
from runtime.services.people_model import AccountDesk, GroupDesk
from runtime.services.signing_model import SigningDesk
from runtime.services.strangers_model import StrangerDesk
from runtime.services.undo_model import UndoDesk


class Desk(UndoDesk, Protocol):
    """The runtime's counter, at which the bot stands."""

    @property
    def held(self) -> HeldDesk:
        """Return the counter of held steps."""
        ...

    @property
    def links(self) -> LinkDesk:
        """Return the counter of our own links."""
        ...

    @property
    def notices(self) -> NoticeDesk:
        """Return the counter that knows how people are told."""
        ...

    @property
    def figures(self) -> FigureDesk:
        """Return the counter of figures."""
        ...

    @property
    def answers(self) -> AnswersDesk:
        """Return the counter for what people do with a request beside deciding it."""
        ...

    @property
    def editing(self) -> EditingDesk:
        """Return the counter for requests that are edited and resubmitted."""
        ...

    @property
    def strangers(self) -> StrangerDesk:
        """Return the counter for clicks of those who may ask for nothing."""
        ...

    @property
    def accounts(self) -> AccountDesk:
        """Return the counter of Slack accounts."""
        ...

    @property
    def groups(self) -> GroupDesk:
        """Return the counter of groups that are user groups of Slack."""
        ...

    @property
    def signing(self) -> SigningDesk:
        """Return the counter of links to sign."""
        ...

    async def people(self, account: SlackAccount) -> list[Person]:
        """Return every person the directory maps the account to: exactly one may act."""
        ...

    async def approval(self, approval_id: str) -> ApprovalView | None:
        """Return the approval as it is now."""
        ...

    async def may_decide(self, approval_id: str, person_id: str) -> Refusal | None:
        """Return why the person may not decide this now, or None. Reads only."""
        ...

    async def may_break_glass(self, approval_id: str, person_id: str) -> Refusal | int:
        """Return how often the person may still do without the others, or why they may not now. Reads only."""
        ...

    async def votes_for(self, approval_id: str, person_id: str) -> str:
        """Return the name of the person for whom this one would vote, "" for themselves or nobody. Reads only."""
        ...

    async def way(self, approval_id: str, person_id: str) -> Refusal | str:
        """Return what `votes_for` does, or why the person may not decide this now. Reads only."""
        ...

    async def record(self, click: Click) -> str:
        """Write the click into the inbox, durably; return the notification's id. Repeats return the first's."""
        ...

    async def apply(self, notification_id: str) -> ClickOutcome:
        """Apply a recorded click, at most once; a repeat returns the same outcome."""
        ...
