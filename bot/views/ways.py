"""Ways to a request or run: to its card in Slack, and by a link of our own that can be passed on."""

from bot.views.blocks import Block, context, link, mrkdwn_text
from bot.views.text import Shown

_LABEL = Shown("Copy link")


def to_message(workspace: str, place: tuple[str, str] | None) -> Shown | None:
    """Return a link to a card, as Slack's own are made; None where there is no card. `workspace` is its address."""
    if place is None:
        return None
    channel, ts = place
    return link(Shown("Open the card"), f"{workspace}archives/{channel}/p{ts.replace('.', '')}")


def ways(card: Shown | None, address: str) -> Shown:
    """Return the way to a card and our own link beside each other; "" where there is neither."""
    return Shown(" · ".join(filter(None, (card, link(_LABEL, address)))))


def link_line(address: str) -> list[Block]:
    """Return our link on a line of its own, nothing where there is none."""
    found = ways(None, address)
    return [context(mrkdwn_text(found))] if found else []
