"""What Slack shows under a link of ours that somebody has shared: how it stands just then, and the way to its card.

All who read the conversation see it, and nobody can decide there: it has no params and no buttons, and is not edited.
"""

from datetime import datetime

from bot.views.blocks import Block, context, date, mrkdwn_text, plain_text, section
from bot.views.states import is_open, signed_title
from bot.views.text import Shown, inline, short
from bot.views.wording import headline, how_far, requirement, stands, until_word
from runtime.services.approval_view import ApprovalView
from runtime.services.front_model import RunView

_LINE = 300

NOT_HERE = (
    "Others read this conversation, so your link is not previewed here. It is shown where its card is, and in your "
    "direct messages with this app."
)


def request_unfurl(view: ApprovalView, card: Shown | None, now: datetime) -> list[Block]:
    """Return how a request stands: what happens to whom, who is asked until when, or that it is over."""
    mocked = "On mocks: " if view.mocked else ""
    what = section(Shown(f"{mocked}{signed_title(view, now)}: {short(headline(view), _LINE, lines=1)}"))
    if not is_open(view, now):
        ended = f"decided {date(view.decided_at)}" if view.decided_at else f"requested {date(view.requested_at)}"
        return [what, context(*_as_of(Shown(ended), card, now))]
    asked = plain_text(short(f"{requirement(view)} · {how_far(view)}", _LINE, lines=1))
    until = Shown(f"{until_word(view)} {date(view.expires_at)}")
    return [what, context(asked, *_as_of(until, card, now))]


def run_unfurl(run: RunView, card: Shown | None, now: datetime) -> list[Block]:
    """Return how a run stands."""
    what = section(Shown(f"{inline(run.reference, _LINE)}: {inline(stands(run.ending), 100)}"))
    since = Shown(f"requested {date(run.created_at)}")
    return [what, context(plain_text(inline(run.runbook, _LINE)), *_as_of(since, card, now))]


def _as_of(since: Shown, card: Shown | None, now: datetime) -> list[Block]:
    """Return the small print: it is not edited, so it says of when it is, and leads to what is."""
    parts = [since, Shown(f"as of {date(now)}"), *([card] if card else [])]
    return [mrkdwn_text(Shown(" · ".join(parts)))]
