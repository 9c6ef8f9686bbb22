"""The menu More: what a person may do with an open request beside deciding it, and the modals in which they write.

Such a modal says what the act is about, what it means, and takes the words. Slack allows five entries in a menu; a
second menu beside the first holds the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator

from bot.views import references
from bot.views.blocks import Block, bold, overflow, plain_text, rows, section
from bot.views.text import Shown, inline, render, short
from bot.views.vote_modals import reason_input, summary
from runtime.model.approval import AskKind
from runtime.model.questions import Answerers, Question
from runtime.model.votes import CardAct, VoteVerdict
from runtime.services.approval_view import ApprovalView

MOST = 5
"""Entries that Slack takes in one menu."""


@dataclass(frozen=True)
class MenuEntry:
    """One act: its value, what the menu calls it, and whether it is there for a request as it is now."""

    act: str
    label: str
    is_there: Callable[[ApprovalView], bool]


def _has_consequence(view: ApprovalView) -> bool:
    return view.kind is not AskKind.AFTERWARDS


def _can_edit(view: ApprovalView) -> bool:
    return view.can_edit


def _is_decision(view: ApprovalView) -> bool:
    return not view.kind.outlives_run


def _has_votes(view: ApprovalView) -> bool:
    return bool(view.votes)


def _has_break_glass(view: ApprovalView) -> bool:
    return bool(view.break_glass)


ENTRIES = (
    MenuEntry("edit", "Edit and resubmit…", _can_edit),
    MenuEntry("ask", "Ask a question…", _is_decision),
    MenuEntry("changes", "Request changes…", _is_decision),
    MenuEntry("withdraw", "Withdraw my vote…", _has_votes),
    MenuEntry("hand", "Hand to…", _is_decision),
    MenuEntry("break_glass", "Break-glass…", _has_break_glass),
    MenuEntry("cancel", "Cancel this request…", _has_consequence),
)


def known_act(act: str) -> str:
    """Return an act of the menu, or raise ValueError."""
    if act not in {entry.act for entry in ENTRIES}:
        raise ValueError(f"no act {act!r} is in the menu")
    return act


class MoreRef(references.CardRef):
    """The value of an entry: the act, and the request as the card showed it. Slack takes 150 characters."""

    act: Annotated[str, AfterValidator(known_act)]


def more_menus(view: ApprovalView) -> list[Block]:
    """Return the menu of an open request, or two where one cannot hold it; for one reader, what they may do now."""
    there = [entry for entry in ENTRIES if entry.is_there(view) and (view.may is None or entry.act in view.may)]
    parts = [there[at : at + MOST] for at in range(0, len(there), MOST)]
    return [_menu(action, view, part) for action, part in zip(references.MORE, parts, strict=False)]


def _menu(action: str, view: ApprovalView, entries: list[MenuEntry]) -> Block:
    values = (MoreRef(**references.of(view), act=entry.act).model_dump_json() for entry in entries)
    return overflow(action, [(entry.label, value) for entry, value in zip(entries, values, strict=True)])


@dataclass(frozen=True)
class WrittenAct:
    """An act that needs words: what it is, how its modal is called, what it means, and what it asks."""

    act: str
    says: VoteVerdict | CardAct
    title: str
    means: str
    question: str


CHANGES = WrittenAct(
    "changes",
    VoteVerdict.CHANGES,
    "Request changes",
    "This ends the request. The requester sees what should change and may ask again. Your words are kept as evidence.",
    "What should change?",
)
WITHDRAW = WrittenAct(
    "withdraw",
    CardAct.WITHDRAW,
    "Withdraw my vote",
    "Your vote stays on record but no longer counts. You may vote again while this is open. Your reason is kept as "
    "evidence.",
    "Why do you withdraw your vote?",
)
ASK = WrittenAct(
    "ask",
    CardAct.ASK,
    "Ask",
    "Asking decides nothing; the request still expires at the time on its card. Question and answer are kept as "
    "evidence.",
    "What do you want to know?",
)
HAND = WrittenAct(
    "hand",
    CardAct.HAND,
    "Hand to",
    "We tell them, and a review becomes theirs. This decides nothing. Your reason is kept as evidence.",
    "Why do you hand it over?",
)


class WrittenActRef(references.CardRef):
    """The modal's private metadata: the act, where to answer the person, and whether it lies over the details."""

    act: Annotated[str, AfterValidator(known_act)]
    channel: str | None
    over: bool


def who_answers(answerers: Answerers) -> Block:
    """Return whom a question calls; where that is nobody, how its answer can come."""
    programs = inline(", ".join(answerers.programs), 200)
    if answerers.group:
        group = inline(answerers.group, 100)
        words = f"The group {group} is notified in the thread and in private, and a member can answer there."
    elif answerers.users:
        names = inline(", ".join(answerers.names), 200)
        words = f"{names} is notified in the thread and in private, and can answer there."
    else:
        asked_by = f"No person is notified: a program, {programs}, requested this."
        words = f"{asked_by} It can answer only if it fetches its questions."
    return {"type": "section", "text": plain_text(Shown(words))}


def written_act_modal(
    saying: WrittenAct, view: ApprovalView, channel: str | None, *, over: bool, first: Sequence[Block] = ()
) -> dict[str, Any]:
    """Return the modal; `first` says more of what the act means."""
    ref = WrittenActRef(**references.of(view), act=saying.act, channel=channel, over=over)
    return {
        "type": "modal",
        "callback_id": references.MORE_MODAL,
        "title": plain_text(Shown(saying.title)),
        "submit": plain_text(Shown(saying.title)),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *summary(view),
            *first,
            section(Shown(saying.means)),
            *(_whom(view) if saying is HAND else []),
            reason_input(saying.question),
        ],
    }


def _whom(view: ApprovalView) -> list[Block]:
    """Return who may be asked, and the choice of one."""
    groups = " or ".join((*view.groups, *view.joined))
    element = {"type": "users_select", "action_id": references.WHOM, "placeholder": plain_text(Shown("A person"))}
    label = plain_text(Shown("To whom?"))
    asked = rows([(bold("Groups"), short(render(groups), 300))])
    return [*asked, {"type": "input", "block_id": references.WHOM, "label": label, "element": element}]


def reply_modal(view: ApprovalView, question: Question, channel: str | None) -> dict[str, Any]:
    """Return the modal in which whoever asked answers a question."""
    ref = references.ReplyRef(act="reply", id=view.approval_id, question=question.question_id, channel=channel)
    asked = rows([(bold("Asked by"), short(render(question.person_name), 100))])
    return {
        "type": "modal",
        "callback_id": references.REPLY_MODAL,
        "title": plain_text(Shown("Answer")),
        "submit": plain_text(Shown("Answer")),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *summary(view),
            *asked,
            section(short(render(question.question), 2500, lines=50)),
            reason_input("Your answer"),
            section(Shown("It appears on the card and in its thread, and is kept as evidence.")),
        ],
    }
