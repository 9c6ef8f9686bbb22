"""What the bot sees of the runtime: views to render, clicks to hand in, and the outcome of a click."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from runtime.model.actor import Person, SlackAccount
from runtime.model.approval import AskKind, Result
from runtime.model.questions import Question
from runtime.model.states import ApprovalStatus
from runtime.model.votes import CardAct, ClaimAct, Refusal, Together, VoteVerdict
from runtime.services.answers_model import Act, AnswersDesk
from runtime.services.declared_model import NOTHING, Declared
from runtime.services.editing_model import EditingDesk
from runtime.services.figures_model import FigureDesk
from runtime.services.held_model import HeldDesk
from runtime.services.links_model import LinkDesk
from runtime.services.notices_model import NoticeDesk
from runtime.services.people_model import AccountDesk, GroupDesk
from runtime.services.signing_model import SigningDesk
from runtime.services.strangers_model import StrangerDesk
from runtime.services.undo_model import UndoDesk


@dataclass(frozen=True)
class FieldView:
    """One field of an effect. `before` is None where the present value is not known."""

    name: str
    before: Any | None
    after: Any


@dataclass(frozen=True)
class VoteView:
    """One counted vote; `person_name` says whose and, where it was given for somebody else, for whom."""

    person_name: str
    verdict: VoteVerdict
    reason: str
    at: datetime
    ticket: str = ""  # where it did without the others
    counts: bool = True  # as the directory stands, while the request is open; what was decided stays decided
    opened_at: datetime | None = None  # when its person first opened the request; None where that was not recorded
    reviewed_at: datetime | None = None  # of a signature: when the same person had reviewed this run
    signed_at: datetime | None = None  # of a review: when the same person had signed in this run


@dataclass(frozen=True)
class ProgressView:
    """How far what a review waits for has come: the newest word, and how often there was some."""

    message: str
    data: Mapping[str, Any] | None
    at: datetime
    count: int


@dataclass(frozen=True)
class EditsView:
    """What people made of what was asked for: who, what is another than the run had asked for, and why.

    `reasons` are theirs, each with its name before it.
    """

    by: tuple[str, ...]
    changes: tuple[FieldView, ...]
    reasons: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ExecuteView:
    """When what is asked for is carried out: in these times of the week (`days`, `from`, `until`) by a zone's clock.

    `within` counts from the approval (ISO 8601); `earliest` is the first moment of all since people were asked.
    """

    windows: tuple[Mapping[str, Any], ...]
    time_zone: str
    not_before: datetime | None
    within: str
    earliest: datetime


@dataclass(frozen=True)
class ApprovalView:
    """Everything a card shows. `revision` rises with every change; a click on a card with another `stamp` is stale.

    `result` says what became of what was asked about; None until that is known.
    `mocked` says that the run is on mocks: nothing is done for real.
    `shortfall` says why too few people could approve the request when it was made; "" where enough could.
    """

    approval_id: str
    kind: AskKind
    status: ApprovalStatus
    revision: int
    stamp: str
    tenant: str
    run_id: str
    run_title: str
    step: str
    connector: str
    operation: str
    target: str
    fields: tuple[FieldView, ...]
    tier: str
    reversible_by: str | None
    digest: str
    requester: str
    submitted_by: str
    purpose: str
    reasons: tuple[tuple[str, str], ...]
    quorum: int
    groups: tuple[str, ...]
    all_groups: bool
    reason_required: bool
    asked: tuple[str, ...]  # Slack ids of those whom the card calls: of people, and of user groups (S…)
    votes: tuple[VoteView, ...]
    requested_at: datetime
    expires_at: datetime
    escalated: bool
    result: Result | None
    shortfall: str
    links: tuple[tuple[str, str], ...]
    mocked: bool
    assignee: str | None = None  # id of the person who has claimed a review
    assignee_name: str = ""
    joined: tuple[str, ...] = ()  # groups next in line that may answer by now
    leads: tuple[str, ...] = ()  # groups next in line, who may take a review over once they may answer it
    progress: ProgressView | None = None
    reference: str = ""  # of the business, by what people know the run
    decided_at: datetime | None = None
    sign_with: str = ""  # with what a vote to approve has to be signed, "" where a click will do
    declared: Declared = NOTHING  # by its author, for its card
    questions: tuple[Question, ...] = ()  # to whoever asked, with their answers
    paused_until: datetime | None = None  # until when its clock stands still at most, as long as a question is open
    withdrawn: tuple[VoteView, ...] = ()  # votes that their people took back
    can_undo: bool = False  # it was performed, and its verb says how it is undone
    stand_ins: tuple[tuple[str, str], ...] = ()  # names of who votes now for whom, where it is shown to many
    votes_for: str = ""  # name of the person for whom the one reader would vote, where it is shown to one
    may: frozenset[Act] | None = None  # what the one reader may do with it now; None where it is shown to many
    can_edit: bool = False  # it is open, and its verb names params that may be edited
    edited: EditsView | None = None  # how it became what it is, where that is not what the run asked for
    replaced_by: str = ""  # the request in its place, once people are asked about what somebody made of it
    missing: tuple[str, ...] = ()  # groups of which nobody has signed yet, where each must
    fell_back: str = ""  # why it went to others as well; "" where it did not
    fallback: tuple[str, ...] = ()  # their groups
    break_glass: tuple[str, ...] = ()  # groups of which one person may do without the others
    execute: ExecuteView | None = None  # when it is carried out, None where at once
    link: str = ""  # of our own, to pass on; "" where browsers do not reach us


@dataclass(frozen=True)
class Click:
    """A person's verdict as it came from Slack, or what they do beside that; verified.

    `dedupe_key` is equal for deliveries of the same click.

    `together` says that it is one of several which the person decided by one act.

    `refusal` is set where the bot already knows that the click cannot count (guest, stranger, bot, other team);
    it is still recorded, and audited.
    """

    dedupe_key: str
    approval_id: str
    stamp: str
    verdict: VoteVerdict | ClaimAct | CardAct
    reason: str
    account: SlackAccount
    person_id: str | None
    refusal: Refusal | None
    request_id: str
    ticket: str = ""  # of an emergency, in which the person does without the others
    about: str = ""  # to whom a request is handed, or the question that is answered
    together: Together | None = None


@dataclass(frozen=True)
class ClickOutcome:
    """What became of a click: counted, or refused with a reason; `status` is the approval's after it."""

    counted: bool
    refusal: Refusal | None
    status: ApprovalStatus | None


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


class CardLedger(Protocol):
    """Where cards are remembered, so that they can be edited after a restart, and shown in evidence.

    `copy_at` says which: the copy that went to that place; None for the card under which the thread is.
    """

    async def location(self, approval_id: str, copy_at: str | None = None) -> tuple[str, str] | None:
        """Return (channel, ts) of the approval's card, or of a copy; None where there is none."""
        ...

    async def title(self, approval_id: str) -> str:
        """Return what the author of a request calls it, as its card was made; "" where it has no title."""
        ...

    async def remember(
        self, approval_id: str, channel: str, ts: str, card: Mapping[str, Any], copy_at: str | None = None
    ) -> None:
        """Keep where the card, or a copy, stands and the exact JSON that was shown."""
        ...

    async def lost(self, approval_id: str, channel: str, ts: str) -> None:
        """Note that the card is not there any more, so that another is posted in its place."""
        ...

    async def standing_at(self, channel: str, ts: str) -> str | None:
        """Return the approval whose card, or a copy of it, is that message."""
        ...

    async def tampered(self, approval_id: str, account: str, edit: str) -> None:
        """Have a card put back that somebody else edited, and raise an alarm; once for each `edit`."""
        ...
