"""The modals of the menu in which a person writes something: what it is about, what it means, and the words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator

from bot.views import references
from bot.views.blocks import Block, bold, plain_text, rows, section
from bot.views.modals import reason_input, summary
from bot.views.more import known_act
from bot.views.text import Shown, inline, render, short
from runtime.model.questions import Answerers, Question
from runtime.model.votes import CardAct, VoteVerdict
from runtime.services.approval_view import ApprovalView


@dataclass(frozen=True)
class Saying:
    """An act that needs words: what it is, how its modal is called, what it means, and what it asks."""

    act: str
    says: VoteVerdict | CardAct
    title: str
    means: str
    question: str


CHANGES = Saying(
    "changes",
    VoteVerdict.CHANGES,
    "Request changes",
    "This ends the request. The requester sees what should change and may ask again. Your words are kept as evidence.",
    "What should change?",
)
WITHDRAW = Saying(
    "withdraw",
    CardAct.WITHDRAW,
    "Withdraw my vote",
    "Your vote stays on record but no longer counts. You may vote again while this is open. Your reason is kept as "
    "evidence.",
    "Why do you withdraw your vote?",
)
ASK = Saying(
    "ask",
    CardAct.ASK,
    "Ask",
    "Asking decides nothing; the request still expires at the time on its card. Question and answer are kept as "
    "evidence.",
    "What do you want to know?",
)
HAND = Saying(
    "hand",
    CardAct.HAND,
    "Hand to",
    "We tell them, and a review becomes theirs. This decides nothing. Your reason is kept as evidence.",
    "Why do you hand it over?",
)


class SayRef(references.CardRef):
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


def say_modal(
    saying: Saying, view: ApprovalView, channel: str | None, *, over: bool, first: Sequence[Block] = ()
) -> dict[str, Any]:
    """Return the modal; `first` says more of what the act means."""
    ref = SayRef(**references.of(view), act=saying.act, channel=channel, over=over)
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
