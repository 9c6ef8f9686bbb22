"""A card as it was shown, taken apart for a page: what its blocks say, without what they do; nothing is left out."""

from collections.abc import Iterator, Mapping
from typing import Any

from evidence.filters import blocks_of

_TOLD = ("header", "divider", "context", "actions", "section")


def parts_of(card: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a card as `blocks_of` does, and `table` with its rows; a block of another type as `other`."""
    blocks = card.get("blocks") or []
    if not blocks:
        yield "words", [(False, str(card.get("text", "")))]
    for block in blocks:
        if block.get("type") == "table":
            yield "table", [[_cell(cell) for cell in row] for row in block.get("rows", ())]
        elif block.get("type") in _TOLD:
            yield from blocks_of({"blocks": [block]}, {})
        else:
            yield "other", block


def _cell(cell: Mapping[str, Any]) -> Any:
    return cell.get("text", cell)
