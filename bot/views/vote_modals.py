"""Vote modals: the reason for a vote, the link to the page that signs it, and break-glass.

Break-glass says what is done without others and what follows, and asks for a reason and a ticket. A notice takes the
place of a message where there is nothing to enter.
"""

from typing import Any, Literal

from bot.views import references
from bot.views.blocks import Block, bold, context, link, mrkdwn_text, plain_text, rows, section
from bot.views.facts import key_blocks
from bot.views.text import Shown, render, short, visible_length
from bot.views.value_blocks import Level
from bot.views.wording import FINAL, acted_on, button_words, headline, is_final, listed, requirement
from runtime.model.approval import AskKind
from runtime.model.votes import ClaimAct, VoteVerdict
from runtime.services.approval_view import ApprovalView

REASON_MIN, REASON_MAX = 3, 2000
_SUMMARY_LEVEL = Level(120, 2, 3, 3, 5, 3)


def _reason_question(view: ApprovalView, verdict: VoteVerdict) -> str:
    if view.kind is AskKind.IN_DOUBT:
        return "How do you know?"
    if view.kind is AskKind.AFTERWARDS:
        return "What did you find?"
    return "Why do you approve?" if verdict is VoteVerdict.APPROVE else "Why do you reject?"


def _consequence(view: ApprovalView, verdict: VoteVerdict) -> str:
    if view.kind is AskKind.IN_DOUBT:
        done = "It is recorded as done." if verdict is VoteVerdict.APPROVE else "It may be tried once more."
        return f"{done} Your reason is kept as evidence."
    if view.kind is AskKind.AFTERWARDS:
        return "What was done stays done. Your reason is kept as evidence."
    refused = "This ends the review as rejected." if view.kind is AskKind.TASK else "This cancels the action."
    if view.veto:
        who = listed(view.veto, "or")
        refused = f"From {who} this cancels the action. From anyone else it is recorded, and the request stays open."
    signed = "This counts as your signature." if verdict is VoteVerdict.APPROVE else refused
    return f"{signed} Your reason is kept as evidence, and the requester can read it."


def _names(view: ApprovalView) -> list[Block]:
    return rows([(bold("On behalf of"), short(view.votes_for, 200, lines=1))]) if view.votes_for else []


def summary(view: ApprovalView) -> list[Block]:
    """Return what a modal is about, in short: the warning and the key facts before the ids."""
    operation, target = acted_on(view)
    known = (("Operation", operation), ("Target", target))
    ids = rows([(bold(name), short(render(value), 300)) for name, value in known if value])
    final = [section(FINAL)] if is_final(view) else []
    return [
        *rows([(bold("What"), short(render(headline(view)), 300))]),
        *final,
        *key_blocks(view, _SUMMARY_LEVEL),
        *ids,
    ]


def reason_input(question: str) -> Block:
    """Return the input in which a person says why."""
    element = {
        "type": "plain_text_input",
        "action_id": references.REASON,
        "multiline": True,
        "min_length": REASON_MIN,
        "max_length": REASON_MAX,
    }
    return {"type": "input", "block_id": references.REASON, "label": plain_text(Shown(question)), "element": element}


def reason_modal(
    view: ApprovalView, verdict: VoteVerdict, channel: str | None, *, over: bool = False
) -> dict[str, Any]:
    """Return the modal that turns a click into a vote with a reason; `over` the details, or by itself."""
    yes, no = button_words(view)
    words = Shown(yes if verdict is VoteVerdict.APPROVE else no)
    signs = has_to_be_signed(view, verdict)
    ref = references.ReasonRef(**references.of(view), verdict=verdict, channel=channel, over=over, signs=signs)
    return {
        "type": "modal",
        "callback_id": references.REASON_MODAL,
        "title": plain_text(words),
        "submit": plain_text(words),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *summary(view),
            *_names(view),
            section(Shown(_consequence(view, verdict))),
            reason_input(_reason_question(view, verdict)),
        ],
    }


def note_modal(text: str) -> dict[str, Any]:
    """Return a modal with a sentence of ours and nothing to do."""
    return {
        "type": "modal",
        "callback_id": references.NOTE_MODAL,
        "title": plain_text(Shown("Countersign")),
        "close": plain_text(Shown("Close")),
        "blocks": [section(Shown(text))],
    }


def reason_fault(reason: str) -> str | None:
    """Say what is wrong with a reason, or None."""
    if visible_length(reason) < REASON_MIN:
        return f"Please give a reason of at least {REASON_MIN} visible characters."
    if len(reason) > REASON_MAX:
        return f"Please use at most {REASON_MAX:,} characters."
    return None


_WHY = Shown(
    "This has to be signed with your passkey. The page shows what you sign, and your device or security key confirms "
    "that it is you. Your approval counts once you have signed there."
)
_ALONE = Shown(
    "This has to be signed with your passkey. The page shows what you sign, with your reason and your ticket, and your "
    "device or security key confirms that it is you. Nothing is done until you have signed there."
)
_SMALL = Shown("This link is for you only. It works once, within five minutes.")
_NOWHERE = Shown(
    "This has to be signed with a passkey, and this installation has no page for it. Nothing was recorded. Please tell "
    "its operator, who sets COUNTERSIGN_PUBLIC_URL."
)


def has_to_be_signed(view: ApprovalView, verdict: VoteVerdict | ClaimAct) -> bool:
    """Say whether a click with this verdict is not enough."""
    return bool(view.sign_with) and verdict is VoteVerdict.APPROVE


def signing_modal(view: ApprovalView, url: str | None, *, uses_break_glass: bool = False) -> dict[str, Any]:
    """Return the modal with the link, or what is told where there is none."""
    there = link(Shown("Open the page to sign"), url) if url else None
    why = section(_ALONE if uses_break_glass else _WHY)
    way = [why, {"type": "section", "text": mrkdwn_text(Shown(f"*{there}*"))}, context(plain_text(_SMALL))]
    return {
        "type": "modal",
        "callback_id": references.SIGNING_MODAL,
        "title": plain_text(Shown("Sign to use break-glass" if uses_break_glass else "Sign to approve")),
        "close": plain_text(Shown("Close")),
        "blocks": [*summary(view), *(way if there else [section(_NOWHERE)])],
    }


TICKET = "ticket"
LONGEST_TICKET = 200
_MEANS = (
    "For emergencies only. This is done with your signature alone. Security is notified immediately, and another "
    "person reviews it afterwards. You have {} left, including this one."
)


class BreakGlassRef(references.CardRef):
    """The modal's private metadata: the request as the person saw it, and where to answer."""

    act: Literal["break_glass"] = "break_glass"
    channel: str | None
    over: bool


def break_glass_modal(view: ApprovalView, channel: str | None, *, left: int, over: bool) -> dict[str, Any]:
    """Return the modal; `left` is how many overrides the person has, `over` says that it lies over the details."""
    overrides = f"{left:,} emergency override{'' if left == 1 else 's'}"
    ref = BreakGlassRef(**references.of(view), channel=channel, over=over)
    without = rows([(bold("Without"), short(render(requirement(view)), 300))])
    ticket = {"type": "plain_text_input", "action_id": TICKET, "min_length": 1, "max_length": LONGEST_TICKET}
    return {
        "type": "modal",
        "callback_id": references.MORE_MODAL,
        "title": plain_text(Shown("Break-glass")),
        "submit": plain_text(Shown("Break-glass")),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *summary(view),
            *without,
            section(Shown(_MEANS.format(overrides))),
            reason_input("What is the emergency?"),
            {
                "type": "input",
                "block_id": TICKET,
                "label": plain_text(Shown("Ticket or incident")),
                "element": ticket,
            },
        ],
    }


def ticket_fault(ticket: str) -> str | None:
    """Say what is wrong with a ticket, or None."""
    if not visible_length(ticket):
        return "Please name the ticket or incident."
    return f"Please use at most {LONGEST_TICKET} characters." if len(ticket) > LONGEST_TICKET else None
