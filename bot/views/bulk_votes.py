"""Bulk votes: the modals to choose several requests, to review them before the vote, and to see what came of each.

The review marks each request that somebody should not decide unseen, and says why.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from bot.views import references
from bot.views.blocks import Block, bold, context, date, heading, mrkdwn_text, plain_text, rows, rows_of, section
from bot.views.comparison import compare
from bot.views.home_state import PREFIX, HomeState
from bot.views.text import Shown, inline, inline_mrkdwn, short
from bot.views.values import has_id
from bot.views.vote_modals import REASON_MAX, has_to_be_signed, reason_input
from bot.views.wording import headline, progress_words, until_word
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView
from runtime.services.clicks import ClickOutcome
from runtime.services.home import NO_CONCERNS, Concerns, Entry, HomeStanding
from runtime.services.refusal_words import refusal_words

MARK = "⚠"
_NAME, _WARNING, _ROW_TITLE, _SHOWN_NAMES = 40, 160, 120, 3


def warnings(view: ApprovalView, concerns: Concerns) -> list[Shown]:
    """Return what a person has to know before they decide a request in a list, each in a sentence."""
    return [Shown(words) for words in _warnings(view, concerns)]


def _warnings(view: ApprovalView, concerns: Concerns) -> Iterator[str]:
    if concerns.own_question:
        yield "Your question has no answer yet"
    if concerns.asked_by:
        yield f"No answer yet to {_names(concerns.asked_by)}"
    if concerns.doubts:
        yield "Another step of this run is in doubt"
    if concerns.edited_by:
        yield f"Edited by {_names(concerns.edited_by)} since it was requested"
    if concerns.reviewed_at is not None:
        yield f"You reviewed this run yourself: {date(concerns.reviewed_at)}"
    if view.shortfall:
        yield f"Not enough eligible approvers: {inline_mrkdwn(view.shortfall, _WARNING)}"
    if view.fell_back:
        yield f"Too few of those asked can decide: {inline_mrkdwn(view.fell_back, _WARNING)}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(inline_mrkdwn(name, _NAME) for name in names[:_SHOWN_NAMES])
    rest = len(names) - _SHOWN_NAMES
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def is_due(view: ApprovalView, now: datetime) -> bool:
    """Return whether less than a quarter of a request's time is left."""
    return view.expires_at - now < (view.expires_at - view.requested_at) / 4


def marked(view: ApprovalView, concerns: Concerns, now: datetime) -> str:
    """Return the mark before a request that has a warning or expires soon, "" for another."""
    return f"{MARK} " if warnings(view, concerns) or is_due(view, now) else ""


def request_rows(
    views: Sequence[ApprovalView], lines: Sequence[Shown], concerns: Mapping[str, Concerns], now: datetime
) -> list[Block]:
    """Return a row for each request: its name, marked where it has a warning; its warnings, and when it expires.

    `lines` say what tells each apart from the others.
    """
    pairs = zip(views, lines, strict=True)
    return rows_of([_request_row(view, line, concerns.get(view.approval_id, NO_CONCERNS), now) for view, line in pairs])


def _request_row(view: ApprovalView, line: Shown, concerns: Concerns, now: datetime) -> tuple[Block, Block]:
    title = inline(headline(view), _ROW_TITLE)
    known_by = inline(view.reference or view.target, _NAME)
    named = title if known_by in title else f"{known_by}: {title}"
    name = Shown(f"{marked(view, concerns, now)}{named}{f'{chr(10)}{line}' if line else ''}")
    soon = "soon, " if is_due(view, now) else ""
    expiry = f"{until_word(view).capitalize()} {soon}{date(view.expires_at)}"
    return plain_text(name), mrkdwn_text(Shown(" · ".join([*warnings(view, concerns), expiry])))


CHOSEN = "chosen"
_PER_BOX = 10


def option(words: Shown, note: Shown | None, value: str) -> Block:
    """Return a choice, with a note under it."""
    described = {"description": plain_text(note)} if note else {}
    return {"text": plain_text(words), "value": value, **described}


def box(block_id: str, words: str, options: Sequence[Block], ticked: Sequence[Block]) -> Block:
    """Return an input of boxes."""
    start = {"initial_options": list(ticked)} if ticked else {}
    element = {"type": "checkboxes", "action_id": block_id, "options": list(options), **start}
    named = plain_text(Shown(words))
    return {"type": "input", "block_id": block_id, "optional": True, "label": named, "element": element}


def boxes(options: Sequence[Block], ticked: Sequence[Block]) -> list[Block]:
    """Return the options in as many boxes as it takes, some of them ticked: Slack has ten in each."""
    parts = [(at, options[at : at + _PER_BOX]) for at in range(0, len(options), _PER_BOX)]
    return [
        box(f"{CHOSEN}-{at}", f"{at + 1:,} to {at + len(part):,}", part, [one for one in part if one in ticked])
        for at, part in parts
    ]


def modal(
    callback: str, title: str, submit: str | None, ref: BaseModel | None, blocks: Sequence[Block]
) -> dict[str, Any]:
    """Return a modal; one without `submit` can only be closed."""
    return {
        "type": "modal",
        "callback_id": callback,
        "title": plain_text(Shown(title)),
        "close": plain_text(Shown("Cancel" if submit else "Close")),
        **({"submit": plain_text(Shown(submit))} if submit else {}),
        **({"private_metadata": ref.model_dump_json()} if ref else {}),
        "blocks": list(blocks),
    }


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


def sort(standings: Sequence[HomeStanding], verdict: VoteVerdict) -> Sorted:
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
    same, other, lines = compare(found.together)
    options = [_bound(view, found.concerns.get(view.approval_id, NO_CONCERNS), now) for view in found.together]
    ticked = [
        one
        for one, view in zip(options, found.together, strict=True)
        if not found.concerns.get(view.approval_id, NO_CONCERNS).own_question
    ]
    blocks = [
        section(Shown(f"You {word.lower()} each ticked request with its own vote. {_consequence(found, verdict)}")),
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


def _consequence(found: Sorted, verdict: VoteVerdict) -> str:
    if verdict is VoteVerdict.REJECT and any(view.veto for view in found.together):
        return "Rejecting cancels each; where others have the veto, it is recorded, and the request stays open."
    return _CONSEQUENCE[verdict]


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


_OUTCOME = 300


def counting_modal(count: int) -> dict[str, Any]:
    """Return what stands until all votes are counted: they are recorded, whatever happens to this window."""
    recorded = "Your vote is recorded and" if count == 1 else f"{count:,} votes are recorded and"
    words = f"{recorded} being counted. You can close this."
    return modal(DONE_MODAL, "Decide several", None, None, [section(Shown(words))])


def done_words(outcomes: Sequence[ClickOutcome | None]) -> str:
    """Say how many votes counted."""
    if len(outcomes) == 1:
        return _outcome_of_one(outcomes[0])
    counted = sum(one is not None and one.counted for one in outcomes)
    later = sum(one is None for one in outcomes)
    recorded = "1 is recorded and will be" if later == 1 else f"{later:,} are recorded and will be"
    waits = f" {recorded} counted shortly." if later else ""
    return f"{counted:,} of {len(outcomes):,} votes counted.{waits}"


def _outcome_of_one(outcome: ClickOutcome | None) -> str:
    if outcome is None:
        return "Your vote is recorded and will be counted shortly."
    return "Your vote counted." if outcome.counted else "Your vote did not count."


def done_modal(
    entries: Sequence[Entry | None], ids: Sequence[str], outcomes: Sequence[ClickOutcome | None]
) -> dict[str, Any]:
    """Return what came of each vote: what did not count first, with the reason, and then what did."""
    told = [
        (headline(entry.view) if entry else some_id, _came_of(outcome, entry), bool(outcome and outcome.counted))
        for some_id, entry, outcome in zip(ids, entries, outcomes, strict=True)
    ]
    order = sorted(told, key=lambda one: one[2])
    shown = [(plain_text(inline(what, 80)), short(came, _OUTCOME)) for what, came, _ in order]
    return modal(DONE_MODAL, "Decide several", None, None, [section(Shown(done_words(outcomes))), *rows(shown)])


def _came_of(outcome: ClickOutcome | None, entry: Entry | None) -> str:
    if outcome is None:
        return "Recorded; will be counted shortly."
    if outcome.refusal:
        return refusal_words(outcome.refusal)
    how = f": {progress_words(entry.view)}" if entry else ""
    return f"Counted{how}."
