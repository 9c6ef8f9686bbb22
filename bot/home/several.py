"""Several requests at once: the modal to choose them, and the list before the vote."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from bot.home.alike import alike
from bot.home.boxes import box, boxes, modal, option
from bot.home.concerns import MARK, marked, request_rows
from bot.home.state import PREFIX, HomeState
from bot.views import references
from bot.views.blocks import Block, bold, context, heading, plain_text, rows, section
from bot.views.modals import REASON_MAX, reason_input
from bot.views.refusals import refusal_words
from bot.views.signing import has_to_be_signed
from bot.views.text import Shown, inline, short
from bot.views.values import has_id
from bot.views.wording import headline
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.home_model import NO_CONCERNS, Concerns, Entry, Standing

CHOOSE_MODAL, DECIDE_MODAL, DONE_MODAL = f"{PREFIX}choose", f"{PREFIX}decide", f"{PREFIX}done"
MODALS = (CHOOSE_MODAL, DECIDE_MODAL)
VERDICT, EVERY = "verdict", "every"

MOST = 100
"""Requests that are decided by one act."""

_TEXT, _NOTE, _WHY, _LISTED = 55, 34, 300, 20
_VERDICTS = {VoteVerdict.APPROVE: "Approve", VoteVerdict.REJECT: "Reject"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ChooseRef(_Strict):
    """The chooser's private metadata: what the Home showed from which one chooses."""

    state: HomeState


class DecideRef(_Strict):
    """The private metadata of the list before the vote: what is said of all, and whether a reason has to be given."""

    verdict: Annotated[VoteVerdict, Field(strict=False)]
    needs_reason: bool


class Sorted(NamedTuple):
    """What of the chosen can be decided by one act, and what can't, each with the reason.

    `concerns` are what speaks against deciding a request unseen, by its id.
    """

    together: Sequence[ApprovalView]
    apart: Sequence[tuple[str, str]]
    concerns: Mapping[str, Concerns]


def choose_modal(entries: Sequence[Entry], total: int, state: HomeState) -> dict[str, Any]:
    """Return the modal in which a person chooses requests, and says what they are going to say of them."""
    more = f" These are the {len(entries):,} that expire first; there are more." if total > len(entries) else ""
    words = f"Next you review your selection before you sign.{more}"
    every = [option(Shown(f"All {len(entries):,} of these"), Shown("ignores the ticks below"), EVERY)]
    options = [option(inline(headline(one.view), _TEXT), _about(one.view), one.view.approval_id) for one in entries]
    said = [option(Shown(word), None, verdict) for verdict, word in _VERDICTS.items()]
    verdicts = {"type": "radio_buttons", "action_id": VERDICT, "options": said, "initial_option": said[0]}
    blocks = [
        section(Shown(words)),
        {"type": "input", "block_id": VERDICT, "label": plain_text(Shown("Decision")), "element": verdicts},
        box(EVERY, "Which of them?", every, ()),
        *boxes(options, ()),
    ]
    return modal(CHOOSE_MODAL, "Decide several", "Review selection", ChooseRef(state=state), blocks)


def _about(view: ApprovalView) -> Shown:
    return Shown(f"{inline(view.reference, _NOTE)} · {inline(view.tier, 10)} tier")


def sort(standings: Sequence[Standing], verdict: VoteVerdict) -> Sorted:
    """Tell what can be decided by one act.

    That is what the person may decide at all, of the kind of the first, no doubts, and nothing that has to be signed.
    """
    views = [one.entry.view for one in standings if one.entry and not one.refusal]
    kind = next((view.kind for view in views if not view.kind.outlives_run), None)
    refused = [
        (headline(one.entry.view) if one.entry else one.approval_id, refusal_words(one.refusal))
        for one in standings
        if one.refusal
    ]
    fits = [view.kind is kind and not has_to_be_signed(view, verdict) for view in views]
    apart = [(headline(view), _why_apart(view, verdict)) for view, fit in zip(views, fits, strict=True) if not fit]
    concerns = {one.approval_id: one.concerns for one in standings}
    return Sorted([view for view, fit in zip(views, fits, strict=True) if fit], [*refused, *apart], concerns)


def _why_apart(view: ApprovalView, verdict: VoteVerdict) -> str:
    if has_to_be_signed(view, verdict):
        return "This needs a passkey: approve it by itself."
    if view.kind.outlives_run:
        return "Actions already attempted or done are decided one by one."
    return "Reviews and approvals cannot be decided together. Choose one kind at a time."


def decide_modal(found: Sorted, verdict: VoteVerdict, now: datetime) -> dict[str, Any]:
    """Return the list before the vote: each request with its warnings, what all share, and what is left out.

    A request in which the person's own question has no answer yet is not ticked from the beginning.
    """
    word, left = _VERDICTS[verdict], _left_out(found.apart)
    if not found.together:
        return modal(DONE_MODAL, "Decide several", None, None, [section(Shown("None of these can be decided.")), *left])
    needs_reason = verdict is VoteVerdict.REJECT or any(view.reason_required for view in found.together)
    same, other, lines = alike(found.together)
    options = [_bound(view, found.concerns.get(view.approval_id, NO_CONCERNS), now) for view in found.together]
    ticked = [
        one
        for one, view in zip(options, found.together, strict=True)
        if not found.concerns.get(view.approval_id, NO_CONCERNS).own_question
    ]
    blocks = [
        section(Shown(f"You {word.lower()} each ticked request with its own vote. {_CONSEQUENCE[verdict]}")),
        heading(_heading(found, now)),
        *request_rows(found.together, lines, found.concerns, now),
        *([heading("What differs"), *other] if other else []),
        heading("Same for all"),
        *same,
        *boxes(options, ticked),
        context(bold("Untick requests you don't want to decide now. Each vote is bound to its action's fingerprint.")),
        *([context(bold("Not ticked: your own question is open."))] if len(ticked) < len(options) else []),
        *left,
        _reason(verdict, needs_reason=needs_reason),
    ]
    ref = DecideRef(verdict=verdict, needs_reason=needs_reason)
    return modal(DECIDE_MODAL, f"{word} several", f"{word} {_many(len(ticked))}", ref, blocks)


def _many(count: int) -> str:
    return f"{count:,} request{'' if count == 1 else 's'}"


_CONSEQUENCE = {
    VoteVerdict.APPROVE: "Each counts as your signature. Approving does each once.",
    VoteVerdict.REJECT: "Rejecting cancels each.",
}


def _reason(verdict: VoteVerdict, *, needs_reason: bool) -> Block:
    asked = reason_input("Why do you reject?" if verdict is VoteVerdict.REJECT else "Why do you approve?")
    if needs_reason:
        return asked
    element = {name: value for name, value in asked["element"].items() if name != "min_length"}
    return {**asked, "optional": True, "element": {**element, "max_length": REASON_MAX}}


def _heading(found: Sorted, now: datetime) -> str:
    with_marks = sum(bool(marked(one, found.concerns.get(one.approval_id, NO_CONCERNS), now)) for one in found.together)
    return f"Requests: {MARK} {with_marks:,} of {len(found.together):,} with a warning" if with_marks else "Requests"


def _bound(view: ApprovalView, concerns: Concerns, now: datetime) -> Block:
    """Return a request as an option whose value binds the vote to what is shown of it."""
    ref = references.CardRef(**references.of(view))
    where = view.reference if has_id(view.target) or not view.target else view.target
    note = Shown(f"{inline(where, _NOTE)} · {view.digest[:16]}")
    words = Shown(f"{marked(view, concerns, now)}{inline(headline(view), _TEXT)}")
    return option(words, note, f"{ref.id} {ref.digest} {ref.stamp}")


def bound_to(value: str) -> references.CardRef:
    """Read such a value; raise ValueError where it is none."""
    some_id, digest, stamp = value.split(" ")
    return references.CardRef(id=some_id, digest=digest, stamp=stamp)


def _left_out(apart: Sequence[tuple[str, str]]) -> list[Block]:
    if not apart:
        return []
    shown = [(plain_text(inline(what, 80)), short(why, _WHY)) for what, why in apart[:_LISTED]]
    rest = len(apart) - len(shown)
    more = [context(bold(f"… {rest:,} more"))] if rest else []
    return [heading(f"Left out: {len(apart):,}"), *rows(shown), *more]
