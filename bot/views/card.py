"""The card: what a person sees before saying yes or no, and afterwards.

Each value stands alone in a plain text object beside words of ours, or in a line whose parts it cannot part: no value
can pass for another. What does not fit is counted on the card and stands in full behind "Show all".
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.views.asked import asked_blocks, asked_buttons, expiry, rest_blocks
from bot.views.blocks import Block, context, header, link, mrkdwn_text, plain_text, section, size
from bot.views.folded import folded_blocks, folded_buttons
from bot.views.shown import Level
from bot.views.states import is_open, signed_title, title
from bot.views.text import Shown, inline, inline_mrkdwn, one_line, short, short_legible, short_mrkdwn, units
from bot.views.ways import ways
from bot.views.wording import headline, headline_parts, how_far
from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView

# Slack refuses a message (msg_blocks_too_long) somewhere above this length, which it does not document.
BUDGET = 12_000
# What a header takes, and of it the words that say how much is cut.
_HEADER, _CUT = 150, 20
SHORT_ID = 8
"""Characters of an id's end, by which people tell two apart."""


@dataclass(frozen=True)
class Card:
    """A message: `text` for notifications and screen readers, `blocks` for the eye."""

    text: str
    blocks: list[Block]

    def json(self) -> dict[str, Any]:
        """Return what is shown, for the record."""
        return {"text": self.text, "blocks": self.blocks}


# The first that fits is taken; the last always fits.
_LEVELS = (Level(300, 4, 3, 3, 5, 3), Level(160, 3, 3, 3, 4, 3), Level(80, 2, 3, 3, 3, 3), Level(20, 1, 3, 3, 2, 2))


def _state(view: ApprovalView, now: datetime) -> Block:
    """Return the state of the request in one line of ours, with the time until when it is open."""
    has_tier = view.tier and view.kind is not AskKind.TASK  # a review changes nothing by itself
    tier = f" · {inline_mrkdwn(view.tier, 20)} risk" if has_tier else ""
    words = f"*{signed_title(view, now)}{tier}{' · escalated' if view.escalated else ''}*"
    until = f" · {expiry(view)}" if is_open(view, now) else ""
    return {"type": "section", "text": mrkdwn_text(Shown(f"{words}{until}"))}


def _headline(view: ApprovalView) -> Block:
    """Return what happens to whom, within the 150 characters of a header; a long text leaves the target its place."""
    does, to = headline_parts(view)
    if not to:
        return header(inline(does, _HEADER - _CUT))
    end = Shown(f": {inline(to, 60)}")
    return header(Shown(f"{inline(does, _HEADER - _CUT - units(end))}{end}"))


def _mocked(view: ApprovalView) -> list[Block]:
    """Say first of all where nothing is done for real."""
    return [section(Shown("On mocks: whatever is decided here, nothing is done for real."))] if view.mocked else []


def _reference(label: str, address: str) -> Block:
    """Return a link, or both parts as data where the address is none."""
    shown = link(short_mrkdwn(label, 60), address)
    return mrkdwn_text(shown) if shown else plain_text(short(one_line(f"{label}: {address}"), 100, lines=1))


def _ids(view: ApprovalView, *, is_asked: bool) -> Block:
    """Return the small print: operation and target, the rules by which people are asked, and the short ids."""
    what = () if view.kind is AskKind.TASK else (view.connector, view.operation, view.target)
    codes = [f"rule {code}" for code, _ in view.reasons[:3]]
    asked = [*what, f"step {view.step}", *codes, f"action {view.digest[:16]}"] if is_asked else []
    parts = [inline(part, 60) for part in asked if part]
    known = (*view.declared.links, *view.links)[:6] if is_asked else ()
    links = [_reference(label, address) for label, address in known]
    run = Shown(f"Run …{inline_mrkdwn(view.run_id[-SHORT_ID:], 8 * SHORT_ID)}")
    way = ways(run, view.link)
    return context(*([plain_text(Shown(" · ".join(parts)))] if parts else []), *links, mrkdwn_text(way))


def _blocks(view: ApprovalView, now: datetime, level: Level) -> list[Block]:
    asked = is_open(view, now)
    buttons = asked_buttons(view) if asked else folded_buttons(view)
    return [
        _state(view, now),
        *_mocked(view),
        _headline(view),
        *(asked_blocks(view, level) if asked else folded_blocks(view, level)),
        # A message that is updated wants new block ids.
        {"type": "actions", "block_id": f"decide-{view.revision}", "elements": buttons},
        *(rest_blocks(view, level) if asked else []),
        _ids(view, is_asked=asked),
    ]


def _text(view: ApprovalView, now: datetime) -> str:
    """Return what a notification tells: the state, what happens to whom, and who asks."""
    run, by = short_legible(one_line(view.run_title), 100), short_legible(one_line(view.requester), 60)
    progress = how_far(view)
    mocked = "On mocks: " if view.mocked else ""
    told = f"{title(view, now)}: {short_legible(headline(view), 180)}"
    return f"{mocked}{told}. Requested by {by}, for {run} ({progress})"


def card(view: ApprovalView, *, now: datetime) -> Card:
    """Return the card for an approval as it is now; it fits Slack's limits whatever the data."""
    for level in _LEVELS:
        blocks = _blocks(view, now, level)
        if size(blocks) <= BUDGET:
            break
    return Card(_text(view, now), blocks)
