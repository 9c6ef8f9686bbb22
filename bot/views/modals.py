"""The modal that asks for a reason, and the notice that takes the place of a message."""

from typing import Any

from bot.views import references
from bot.views.blocks import Block, bold, plain_text, rows, section
from bot.views.facts import key_blocks
from bot.views.shown import Level
from bot.views.text import Shown, render, short, visible_length
from bot.views.wording import FINAL, acted_on, button_words, headline, is_final
from runtime.model.approval import AskKind
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView

REASON_MIN, REASON_MAX = 3, 2000
_LEVEL = Level(120, 2, 3, 3, 5, 3)


def _question(view: ApprovalView, verdict: VoteVerdict) -> str:
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
    return [*rows([(bold("What"), short(render(headline(view)), 300))]), *final, *key_blocks(view, _LEVEL), *ids]


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
    ref = references.ReasonRef(**references.of(view), verdict=verdict, channel=channel, over=over)
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
            reason_input(_question(view, verdict)),
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
