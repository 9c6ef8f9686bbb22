"""A request that is over: its outcome, who decided, and when. Everything else stands behind "Show all"."""

from bot.cards.blocks import Block, bold, context, date, mrkdwn_text, plain_text, rows
from bot.cards.layout.shown import Level, left_out
from bot.cards.request.buttons import show_all_button, undo_buttons
from bot.cards.request.edited import replacement_button
from bot.cards.request.windows import carried
from bot.cards.text import Shown, inline
from bot.cards.wording import result_words, vote_word
from runtime.desk.model import ApprovalView


def folded_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what stands between the state of the request and its buttons."""
    outcome = [(bold("Outcome"), level.value(result_words(view.result)))] if view.result and not carried(view) else []
    votes = view.votes[-level.others :]
    said = [
        (
            plain_text(Shown(f"{inline(vote.person_name, 60)}\n{inline(vote_word(view, vote), 150)}")),
            level.value(vote.reason) if vote.reason else Shown("—"),
        )
        for vote in votes
    ]
    return [*carried(view), *rows([*outcome, *said]), *left_out(len(view.votes) - len(votes), "vote"), *_when(view)]


def folded_buttons(view: ApprovalView) -> list[Block]:
    """Return the buttons for the rest, and for an undo, or for what stands in its place, where there is one."""
    return [*undo_buttons(view), *replacement_button(view), show_all_button(view)]


def _when(view: ApprovalView) -> list[Block]:
    word = "Decided" if view.votes else "Closed"
    decided = [mrkdwn_text(Shown(f"{word} {date(view.decided_at)}"))] if view.decided_at else []
    return [context(*decided, plain_text(Shown(f"Asked by {inline(view.requester, 60)}")))]
