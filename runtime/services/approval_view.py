"""The view of a request: everything that a card shows, and what its author declared for the card.

Labels of a declared card are the author's; all else is data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from runtime.model.approval import AskKind, Result
from runtime.model.questions import Question
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict


@dataclass(frozen=True)
class DeclaredField:
    """A labelled value, and how it is written: text, date, number, percent or code."""

    label: str
    value: Any
    format: str


@dataclass(frozen=True)
class DeclaredTable:
    """A table: columns of (label, format), the first of its lines, and how many there are in all."""

    title: str
    columns: tuple[tuple[str, str], ...]
    lines: tuple[tuple[Any, ...], ...]
    count: int


@dataclass(frozen=True)
class Declared:
    """What is declared and could be evaluated; "" and nothing stand for what was not."""

    title: str = ""
    summary: str = ""
    fields: tuple[DeclaredField, ...] = ()
    tables: tuple[DeclaredTable, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    hide: frozenset[str] = frozenset()
    approve: str = ""  # what each choice leads to
    reject: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Declared":
        """Return it from the form in which it is stored."""
        return cls(
            title=document.get("title", ""),
            summary=document.get("summary", ""),
            approve=document.get("approve", ""),
            reject=document.get("reject", ""),
            fields=tuple(DeclaredField(**field) for field in document["fields"]),
            tables=tuple(_table(table) for table in document["tables"]),
            links=tuple((link["label"], link["url"]) for link in document["links"]),
            hide=frozenset(document["hide"]),
        )


NOTHING = Declared()
"""Where nothing is declared."""


def _table(document: Mapping[str, Any]) -> DeclaredTable:
    return DeclaredTable(
        title=document["title"],
        columns=tuple((column["label"], column["format"]) for column in document["columns"]),
        lines=tuple(map(tuple, document["lines"])),
        count=document["count"],
    )


class Act(StrEnum):
    """What a person may do with a request; the values of the menu's entries, and those with buttons."""

    DECIDE = "decide"
    EDIT = "edit"
    ASK = "ask"
    CHANGES = "changes"
    WITHDRAW = "withdraw"
    HAND = "hand"
    CLAIM = "claim"
    RELEASE = "release"
    BREAK_GLASS = "break_glass"
    CANCEL = "cancel"


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
    leaves_open: bool = False  # a no that ended nothing, since policy gives the veto to others


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
    classes: tuple[str, ...] = ()  # how many have to be of which groups, in words, where policy says so
    missing_classes: tuple[str, ...] = ()  # those of them that are not complete yet
    veto: tuple[str, ...] = ()  # groups of which alone a no ends it; none where any no does
    fell_back: str = ""  # why it went to others as well; "" where it did not
    fallback: tuple[str, ...] = ()  # their groups
    break_glass: tuple[str, ...] = ()  # groups of which one person may do without the others
    execute: ExecuteView | None = None  # when it is carried out, None where at once
    link: str = ""  # of our own, to pass on; "" where browsers do not reach us
