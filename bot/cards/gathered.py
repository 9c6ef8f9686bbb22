"""Much that was said to one person, as one message: how much it is, a line for each, and the way to their Home."""

from collections.abc import Iterator

from pydantic import TypeAdapter

from bot.cards.blocks import Block, bold, context, header, mrkdwn_text, section
from bot.cards.messages import words
from bot.cards.text import Shown, mrkdwn, short
from runtime.model.messages import Said
from runtime.model.notices.told import Gathering

MOST_LINES = 15

_SAID: TypeAdapter[Said] = TypeAdapter(Said)
_LINE = 180


def gathered_message(gathering: Gathering, home: Shown | None) -> tuple[Shown, list[Block]]:
    """Return text and blocks of the message; requests that were decided since are left out, others stand once."""
    lines = list(_lines(gathering))
    title = _title(lines)
    rest = len(lines) - MOST_LINES
    shown = [section(short(line, _LINE, lines=1)) for line, _ in lines[:MOST_LINES]]
    more = [context(bold(f"… and {rest:,} more"))] if rest > 0 else []
    way = home or mrkdwn("They stand in the tab Home of this app.")
    return Shown(title), [header(Shown(title)), *shown, *more, context(mrkdwn_text(way))]


def _title(lines: list[tuple[str, bool]]) -> str:
    if not lines:
        return "Nothing waits for you any more"
    if all(asks for _, asks in lines):
        return "1 more request waits for you" if len(lines) == 1 else f"{len(lines):,} more requests wait for you"
    return "1 more message for you" if len(lines) == 1 else f"{len(lines):,} more messages for you"


def _lines(gathering: Gathering) -> Iterator[tuple[str, bool]]:
    """Yield what each says, and whether it asks for a decision: of what is said again of a request, the last."""
    asking: dict[str, tuple[str, bool]] = {}
    others: list[tuple[str, bool]] = []
    for item in gathering.items:
        told = words(_SAID.validate_python(item.said), item.title)
        if item.card_of is None or not item.asks:
            others.append((told, False))
        elif item.is_open:
            asking[item.card_of] = (told, True)
    yield from asking.values()
    yield from others
