"""Much that was said to one person, as one message: how much it is, a line for each, and the way to their Home."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import TypeAdapter

from bot.views.blocks import Block, bold, context, dated, header, mrkdwn_text
from bot.views.messages import moments, words
from bot.views.text import Shown, mrkdwn, one_line, short_legible
from bot.views.ways import to_message, ways
from runtime.model.delivery import Gathered, Gathering
from runtime.model.messages import Said
from runtime.model.ranks import Rank

MOST_LINES = 15

_SAID: TypeAdapter[Said] = TypeAdapter(Said)
_LINE = 180


@dataclass(frozen=True)
class _Line:
    """What was said last of something; `at` is its place in time, `asks` says that it asks for a decision."""

    item: Gathered
    rank: Rank
    at: int
    asks: bool


def gathered_message(gathering: Gathering, home: Shown | None, workspace: str = "") -> tuple[Shown, list[Block]]:
    """Return text and blocks of the message: the most urgent first, and of these the newest.

    Requests that were decided since are left out, others stand once. `workspace` is its address.
    """
    lines = sorted(_lines(gathering), key=lambda line: (line.rank, -line.at))
    title = _title(lines)
    rest = len(lines) - MOST_LINES
    more = [context(bold(f"… and {rest:,} more"))] if rest > 0 else []
    way = home or mrkdwn("See this app's Home tab.")
    shown = [_block(line.item, workspace) for line in lines[:MOST_LINES]]
    return Shown(title), [header(Shown(title)), *shown, *more, context(mrkdwn_text(way))]


def _block(item: Gathered, workspace: str) -> Block:
    """Return what was said, with the way to what it is about."""
    said = _SAID.validate_python(item.said)
    told = dated(short_legible(one_line(words(said, item.title)), _LINE), moments(said))
    way = ways(to_message(workspace, item.card) if workspace else None, item.link)
    return {"type": "section", "text": mrkdwn_text(Shown(f"{told} {way}".rstrip()))}


def _title(lines: list[_Line]) -> str:
    if not lines:
        return "Nothing is waiting for you now"
    if all(line.asks for line in lines):
        return "1 more request for you" if len(lines) == 1 else f"{len(lines):,} more requests for you"
    return "1 more message for you" if len(lines) == 1 else f"{len(lines):,} more messages for you"


def _lines(gathering: Gathering) -> Iterator[_Line]:
    """Yield a line for each message; what is said again of a request is the last of it, as urgent as any."""
    asking: dict[str, _Line] = {}
    for at, item in enumerate(gathering.items):
        if item.card_of is None or not item.asks:
            yield _Line(item, item.rank, at, asks=False)
        elif item.is_open:
            before = asking.get(item.card_of)
            rank = min(before.rank, item.rank) if before else item.rank
            asking[item.card_of] = _Line(item, rank, at, asks=True)
    yield from asking.values()
