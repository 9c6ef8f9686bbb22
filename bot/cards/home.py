"""App Home: what waits for me."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.cards.blocks import Block, bold, context, date, header, link, mrkdwn_text, plain_text, section
from bot.cards.card import decide_buttons, show_all_button
from bot.cards.held import held_item
from bot.cards.text import Shown, mrkdwn, plain, render, short
from bot.cards.wording import approvals, requirement, title, what
from runtime.desk.held.model import HeldWaiting
from runtime.desk.model import ApprovalView

# Four blocks each, and three for what is held, within a view's hundred; two headings, and what more there is.
SHOWN, HELD_SHOWN = 18, 8


def _item(view: ApprovalView, permalink: str | None, now: datetime) -> list[Block]:
    asked = short(what(view), 300, lines=1)
    why = short(f"{render(view.run_title)} · {view.tier} tier · {requirement(view)}", 300)
    to_card = link(mrkdwn("Open the card"), permalink) if permalink else None
    place = [mrkdwn_text(to_card or Shown("There is no card of this in its channel just now. You can decide here."))]
    decide: list[Block] = [] if to_card else [{"type": "actions", "elements": decide_buttons(view)}]
    expiry = mrkdwn_text(Shown(f"{approvals(view)} of {view.quorum} · expires {date(view.expires_at)}"))
    first = section(Shown(f"{title(view, now)}: {asked}"))
    return [
        {**first, "accessory": show_all_button(view)},
        context(plain_text(why), expiry, *place),
        *decide,
        {"type": "divider"},
    ]


def home(
    items: Sequence[tuple[ApprovalView, str | None]], total: int, held: HeldWaiting, *, now: datetime
) -> dict[str, Any]:
    """Return the Home tab for a person: the most urgent requests, each with a link to its card, and what is held."""
    blocks = [header(Shown(_requests(total, held)))]
    for view, permalink in items:
        blocks += _item(view, permalink, now)
    if not total:
        blocks.append(section(Shown("When your signature is needed, the request appears here and in its channel.")))
    if total > len(items):
        blocks.append(context(bold(f"… {total - len(items):,} more, less urgent. They appear as you decide these.")))
    return {"type": "home", "blocks": [*blocks, *_held(held)]}


def _requests(total: int, held: HeldWaiting) -> str:
    if total:
        return f"{total} request{'s' if total != 1 else ''} for you"
    return "No request waits for you" if held.total else "Nothing waits for you"


def _held(held: HeldWaiting) -> list[Block]:
    if not held.total:
        return []
    words = f"{held.total:,} held step{'s wait' if held.total != 1 else ' waits'} for an operator"
    more = held.total - len(held.views)
    left_out = [context(bold(f"… {more:,} more: countersign held list"))] if more else []
    return [header(Shown(words)), *(block for view in held.views for block in held_item(view)), *left_out]


def home_refusal(text: str) -> dict[str, Any]:
    """Return the Home tab for someone who may not decide anything."""
    return {"type": "home", "blocks": [header(Shown("Countersign")), section(plain(text))]}
