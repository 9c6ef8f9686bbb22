"""A card as people saw it, taken apart for a page: what Slack's blocks say, without what they do."""

import re
from collections.abc import Iterator, Mapping

from evidence.reading.material import Record, record, records, text

Part = tuple[bool, str]
"""Whether it is strong, and the text."""
Block = tuple[str, list[Part]]
"""`head`, `words`, `grid` (in pairs, side by side), `soft`, `buttons`, or `rule` for a line between."""
People = Mapping[str, str]
"""Names of people by their Slack accounts."""

_DATE = re.compile(r"<!date\^[^|<>]*\|([^<>]*)>")
_USER = re.compile(r"<@([A-Z0-9]+)>")
_LINK = re.compile(r"<(https?://[^|<>]*)\|([^<>]*)>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def blocks_of(document: Record, people: People) -> list[Block]:
    """Return the blocks of a card; of one in another form, its text for notifications. `people` are for mentions."""
    card = record(document, "card") or document
    found = [block for one in records(card, "blocks") for block in _block(one, people)]
    return found or [("words", [(False, text(card, "text"))])]


def _block(block: Record, people: People) -> Iterator[Block]:
    match text(block, "type"):
        case "header":
            yield "head", [_part(record(block, "text"), people)]
        case "divider":
            yield "rule", []
        case "context":
            yield "soft", [_part(one, people) for one in records(block, "elements")]
        case "actions":
            yield "buttons", [_part(record(one, "text"), people) for one in records(block, "elements")]
        case _:
            yield from _section(block, people)


def _section(block: Record, people: People) -> Iterator[Block]:
    if block.get("text"):
        yield "words", [_part(record(block, "text"), people)]
    if fields := [_part(one, people) for one in records(block, "fields")]:
        yield "grid", fields


def _part(told: Record, people: People) -> Part:
    """Return a text object: fixed words in bold, mentions and dates as what they stand for, data as it is."""
    said = text(told, "text")
    if text(told, "type") != "mrkdwn":
        return False, said
    is_strong = len(said) > 2 and said[0] == said[-1] == "*"  # noqa: PLR2004 - both stars, and what is between
    said = _LINK.sub(
        r"\2 (\1)",
        _USER.sub(lambda found: _mention(found[1], people), _DATE.sub(r"\1", said.strip("*") if is_strong else said)),
    )
    for entity, character in _ENTITIES:
        said = said.replace(entity, character)
    return is_strong, said


def _mention(account: str, people: People) -> str:
    """Return a mention as the person's name, as text of Slack's markup; an unknown one as its account."""
    name = people.get(account) or f"@{account}"
    for entity, character in reversed(_ENTITIES):
        name = name.replace(character, entity)
    return name
