"""The buttons of a request, and the question that stands between a click and a vote."""

from bot.views import references
from bot.views.blocks import Block, button, plain_text
from bot.views.facts import count_fields
from bot.views.text import Shown, inline
from bot.views.wording import acted_on, button_words, headline, is_final
from runtime.model.approval import AskKind
from runtime.model.messages import QuestionAsked
from runtime.services.approval_view import Act, ApprovalView


def confirmation(view: ApprovalView) -> Block:
    """Return the question that stands between the click and the vote."""
    whose = for_whom(view)
    lines = (headline(view), *acted_on(view))
    what = "\n".join(inline(words, 45 if whose else 65) for words in lines if words)
    final = " Cannot be undone." if is_final(view) else ""
    signed = f"This counts as {whose or 'your signature.'}{final}"
    yes, _ = button_words(view)
    return {
        "title": plain_text(Shown(f"{yes}: are you sure?")),
        "text": plain_text(Shown(f"{what}\n{signed}")),
        "confirm": plain_text(Shown(yes)),
        "deny": plain_text(Shown("Cancel")),
    }


def for_whom(view: ApprovalView) -> Shown | None:
    """Return in whose name one signs, where that may be somebody else's: theirs, or of each who stands in, names."""
    if view.votes_for:
        return Shown(f"the signature of {inline(view.votes_for, 45)}.")
    if not view.stand_ins:
        return None
    pairs = "; ".join(f"{delegate} for {delegator}" for delegate, delegator in view.stand_ins)
    return Shown(f"your signature, or: {inline(pairs, 45)}.")


def show_all_button(view: ApprovalView) -> Block:
    """Return the button that opens everything in full."""
    value = references.PageRef(**references.of(view), page=0).model_dump_json()
    count = count_fields(view)
    return button(references.SHOW_ALL, f"Show all {count:,} fields" if count > 1 else "Show all", value)


def decide_buttons(view: ApprovalView) -> list[Block]:
    """Return the two buttons that decide a request; for one reader who may not decide it, neither."""
    if view.may is not None and Act.DECIDE not in view.may:
        return []
    value = references.CardRef(**references.of(view)).model_dump_json()
    yes, no = button_words(view)
    # A modal that asks for the reason, or a page on which one signs, takes the place of the question.
    ask = {} if view.reason_required or view.sign_with else {"confirm": confirmation(view)}
    # Neither answer about what happened is the safe one, so neither is coloured.
    good, bad = ({}, {}) if view.kind.outlives_run else ({"style": "primary"}, {"style": "danger"})
    return [button(references.APPROVE, yes, value, **good, **ask), button(references.REJECT, no, value, **bad)]


def claim_buttons(view: ApprovalView) -> list[Block]:
    """Return what takes a review on, or gives it back; where there are people next in line, they may take it over.

    One reader gets what they may do now.
    """
    if view.kind is not AskKind.TASK:
        return []
    value = references.CardRef(**references.of(view)).model_dump_json()
    if view.may is not None:
        take = "Claim" if view.assignee is None else "Take over"
        own = ((Act.RELEASE, references.RELEASE, "Release"), (Act.CLAIM, references.CLAIM, take))
        return [button(action, words, value) for act, action, words in own if act in view.may]
    if view.assignee is None:
        return [button(references.CLAIM, "Claim", value)]
    over = [button(references.CLAIM, "Take over", value)] if view.leads else []
    return [button(references.RELEASE, "Release", value), *over]


def answer_button(said: QuestionAsked) -> Block:
    """Return the button beside a question that lets whoever asked answer it."""
    ref = references.QuestionRef(id=said.approval_id, question=said.question_id)
    return {"type": "actions", "elements": [button(references.ANSWER, "Answer", ref.model_dump_json())]}


def cancel_button(run_id: str) -> Block:
    """Return the button beside a run that asks for it to be canceled."""
    return button(references.CANCEL, "Cancel…", references.RunRef(run_id=run_id).model_dump_json())


def undo_buttons(view: ApprovalView) -> list[Block]:
    """Return the button that asks what can be undone, where what was asked for was done and can be."""
    if not view.can_undo:
        return []
    return [button(references.UNDO, "Undo", references.CardRef(**references.of(view)).model_dump_json())]
