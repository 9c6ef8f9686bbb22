"""What people do with a request beside deciding it, once for each: which act is a pure function of its key."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any
from zlib import crc32

from tests.faults.world import chat

TRIES = 12
"""How often an act is tried before its person decides instead."""
_EACH = 12


class Whim(StrEnum):
    """An act of the menu on a card; the value is how its entry begins."""

    EDIT = "Edit and resubmit"
    WITHDRAW = "Withdraw my vote"
    HAND = "Hand to"
    ASK = "Ask a question"
    CHANGES = "Request changes"


_TURNS = (Whim.EDIT, Whim.EDIT, Whim.WITHDRAW, Whim.HAND, Whim.ASK, Whim.CHANGES)
_EDITED = "pay"


def whim_of(operation: str, key: str) -> Whim | None:
    """Return what somebody does with the request for an effect before it is decided, or None for most of them."""
    turn = crc32(key.encode()) % _EACH
    whim = _TURNS[turn] if turn < len(_TURNS) else None
    return None if whim is Whim.EDIT and operation != _EDITED else whim


def entered(whim: Whim, other: str) -> dict[str, str]:
    """Return what a person enters in the modal of an act; `other` is a colleague's name."""
    more = {Whim.EDIT: {"param:note": "one at a time"}, Whim.HAND: {"whom": chat.user_of(other)}}
    return {"reason": "seen, and thought about", **more.get(whim, {})}


def entry(card: dict[str, Any], whim: Whim) -> tuple[str, str] | None:
    """Return the menu's action and the value of the entry on a card, or None where it is not there."""
    return next(
        ((menu["action_id"], option["value"]) for menu, option in _options(card) if _words(option).startswith(whim)),
        None,
    )


def _options(card: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for block in card.get("blocks", []):
        for element in block.get("elements", []) if block["type"] == "actions" else []:
            for option in element.get("options", []):
                yield element, option


def _words(option: dict[str, Any]) -> str:
    return str(option["text"]["text"])
