"""What speaks against deciding a request unseen, as the list before several votes marks it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from bot.views.blocks import Block, date, mrkdwn_text, plain_text, rows_of
from bot.views.text import Shown, inline, inline_mrkdwn
from bot.views.wording import headline, until_word
from runtime.services.approval_view import ApprovalView
from runtime.services.home_model import NO_CONCERNS, Concerns

MARK = "⚠"
_NAME, _WHY, _TEXT, _SHOWN = 40, 160, 120, 3


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
        yield f"Not enough eligible approvers: {inline_mrkdwn(view.shortfall, _WHY)}"
    if view.fell_back:
        yield f"Too few of those asked can decide: {inline_mrkdwn(view.fell_back, _WHY)}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(inline_mrkdwn(name, _NAME) for name in names[:_SHOWN])
    rest = len(names) - _SHOWN
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
    return rows_of([_row(view, line, concerns.get(view.approval_id, NO_CONCERNS), now) for view, line in pairs])


def _row(view: ApprovalView, line: Shown, concerns: Concerns, now: datetime) -> tuple[Block, Block]:
    title = inline(headline(view), _TEXT)
    known_by = inline(view.reference or view.target, _NAME)
    named = title if known_by in title else f"{known_by}: {title}"
    name = Shown(f"{marked(view, concerns, now)}{named}{f'{chr(10)}{line}' if line else ''}")
    soon = "soon, " if is_due(view, now) else ""
    expiry = f"{until_word(view).capitalize()} {soon}{date(view.expires_at)}"
    return plain_text(name), mrkdwn_text(Shown(" · ".join([*warnings(view, concerns), expiry])))
