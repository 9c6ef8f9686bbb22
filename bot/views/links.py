"""Links: to a request's card in Slack, our own link for copying, and the preview that Slack shows under a shared link.

Everybody in the conversation sees a preview, and nobody can decide there: it has no params and no buttons, and is not
edited. It says how the request stood at that moment, and links to its card.
"""

from datetime import datetime

from bot.views.blocks import Block, context, date, link, mrkdwn_text, plain_text, section
from bot.views.states import is_open, signed_title
from bot.views.text import Shown, inline, short
from bot.views.wording import headline, progress_words, requirement, status_words, until_word
from runtime.services.approval_view import ApprovalView
from runtime.services.requests import RunView

_LABEL = Shown("Copy link")


def card_link(workspace: str, place: tuple[str, str] | None) -> Shown | None:
    """Return a link to a card, as Slack's own are made; None where there is no card. `workspace` is its address."""
    if place is None:
        return None
    channel, ts = place
    return link(Shown("Open the card"), f"{workspace}archives/{channel}/p{ts.replace('.', '')}")


def joined_links(card: Shown | None, address: str) -> Shown:
    """Return the way to a card and our own link beside each other; "" where there is neither."""
    return Shown(" · ".join(filter(None, (card, link(_LABEL, address)))))


def link_line(address: str) -> list[Block]:
    """Return our link on a line of its own, nothing where there is none."""
    found = joined_links(None, address)
    return [context(mrkdwn_text(found))] if found else []


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
    asked = plain_text(short(f"{requirement(view)} · {progress_words(view)}", _LINE, lines=1))
    until = Shown(f"{until_word(view)} {date(view.expires_at)}")
    return [what, context(asked, *_as_of(until, card, now))]


def run_unfurl(run: RunView, card: Shown | None, now: datetime) -> list[Block]:
    """Return how a run stands."""
    what = section(Shown(f"{inline(run.reference, _LINE)}: {inline(status_words(run.ending), 100)}"))
    since = Shown(f"requested {date(run.created_at)}")
    return [what, context(plain_text(inline(run.runbook, _LINE)), *_as_of(since, card, now))]


def _as_of(since: Shown, card: Shown | None, now: datetime) -> list[Block]:
    """Return the small print: it is not edited, so it says of when it is, and leads to what is."""
    parts = [since, Shown(f"as of {date(now)}"), *([card] if card else [])]
    return [mrkdwn_text(Shown(" · ".join(parts)))]
