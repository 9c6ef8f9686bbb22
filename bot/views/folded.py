"""A request that is over: its outcome, who decided, and when. Everything else stands behind "Show all"."""

from bot.views.blocks import Block, context, date, mrkdwn_text, plain_text, rows, section
from bot.views.buttons import show_all_button, undo_buttons
from bot.views.edited import replacement_button
from bot.views.shown import Level, left_out
from bot.views.text import Shown, inline
from bot.views.windows import carried
from bot.views.wording import result_words, vote_notes, vote_word
from runtime.services.approval_view import ApprovalView, VoteView


def folded_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what stands between the state of the request and its buttons."""
    outcome = [section(level.value(result_words(view.result)))] if view.result and not carried(view) else []
    votes = view.votes[-level.others :]
    said = [
        (
            plain_text(Shown("\n".join(filter(None, _voted(view, vote))))),
            level.value(vote.reason) if vote.reason else Shown("—"),
        )
        for vote in votes
    ]
    return [*carried(view), *outcome, *rows(said), *left_out(len(view.votes) - len(votes), "vote"), *_when(view)]


def _voted(view: ApprovalView, vote: VoteView) -> tuple[str, ...]:
    """Return who said what, and what is unusual about it."""
    notes = vote_notes(vote)
    return inline(vote.person_name, 60), inline(vote_word(view, vote), 150), f"⚠ {notes}" if notes else ""


def folded_buttons(view: ApprovalView) -> list[Block]:
    """Return the buttons for the rest, and for an undo, or for what stands in its place, where there is one."""
    return [*undo_buttons(view), *replacement_button(view), show_all_button(view)]


def _when(view: ApprovalView) -> list[Block]:
    word = "Decided" if view.votes else "Closed"
    decided = [mrkdwn_text(Shown(f"{word} {date(view.decided_at)}"))] if view.decided_at else []
    return [context(*decided, plain_text(Shown(f"Requested by {inline(view.requester, 60)}")))]
