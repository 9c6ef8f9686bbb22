"""Boxes to tick, and the modals in which they stand."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from bot.views.blocks import Block, plain_text
from bot.views.text import Shown

CHOSEN = "chosen"
_PER_BOX = 10


def option(words: Shown, note: Shown | None, value: str) -> Block:
    """Return a choice, with a note under it."""
    described = {"description": plain_text(note)} if note else {}
    return {"text": plain_text(words), "value": value, **described}


def box(block_id: str, words: str, options: Sequence[Block], ticked: Sequence[Block]) -> Block:
    """Return an input of boxes."""
    start = {"initial_options": list(ticked)} if ticked else {}
    element = {"type": "checkboxes", "action_id": block_id, "options": list(options), **start}
    named = plain_text(Shown(words))
    return {"type": "input", "block_id": block_id, "optional": True, "label": named, "element": element}


def boxes(options: Sequence[Block], ticked: Sequence[Block]) -> list[Block]:
    """Return the options in as many boxes as it takes, some of them ticked: Slack has ten in each."""
    parts = [(at, options[at : at + _PER_BOX]) for at in range(0, len(options), _PER_BOX)]
    return [
        box(f"{CHOSEN}-{at}", f"{at + 1:,} to {at + len(part):,}", part, [one for one in part if one in ticked])
        for at, part in parts
    ]


def modal(
    callback: str, title: str, submit: str | None, ref: BaseModel | None, blocks: Sequence[Block]
) -> dict[str, Any]:
    """Return a modal; one without `submit` can only be closed."""
    return {
        "type": "modal",
        "callback_id": callback,
        "title": plain_text(Shown(title)),
        "close": plain_text(Shown("Cancel" if submit else "Close")),
        **({"submit": plain_text(Shown(submit))} if submit else {}),
        **({"private_metadata": ref.model_dump_json()} if ref else {}),
        "blocks": list(blocks),
    }
