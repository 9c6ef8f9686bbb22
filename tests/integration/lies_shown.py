"""What somebody tells who holds the signing key, about the cards that people saw."""

import json
from typing import Any

from receipts import canonical
from receipts.chain import MAX_CARD
from tests.integration.forger import Bend, Forged, Lie


def _unshown(forged: Forged) -> None:
    """Leave out every card of an approval, and that it was shown."""
    forged.drop(*forged.all("card.shown"))
    forged.approval()["cards"] = []


def _shown_late(forged: Forged) -> None:
    forged.move(forged.leaf("card.shown"), after=forged.leaf("vote.counted"))


def _unnamed(forged: Forged) -> None:
    """Let a vote name no card, though one was shown before it."""
    del forged.leaf("vote.counted")["data"]["card"]


def _about(**other: str) -> Bend:
    """Return what lets the buttons of a card be about something else."""

    def bend(forged: Forged) -> None:
        own = json.dumps(_own(forged), separators=(",", ":")).removesuffix("}")
        told = json.dumps({**_own(forged), **other}, separators=(",", ":")).removesuffix("}")
        _replace(forged, own, told)

    return bend


def _own(forged: Forged) -> dict[str, str]:
    """Return what the buttons of the approval's card are about."""
    approval = forged.approval()
    stamp = canonical.digest([approval["digest"], approval["requirement"], "requested"])[:16]
    return {"id": approval["id"], "digest": approval["digest"][:16], "stamp": stamp}


def _replace(forged: Forged, own: str, told: str) -> None:
    """Put another text into each value of a card."""
    forged.approval()["cards"] = [_with(card, own, told) for card in forged.approval()["cards"]]


def _with(part: Any, own: str, told: str) -> Any:
    if isinstance(part, list):
        return [_with(one, own, told) for one in part]
    if isinstance(part, dict):
        return {name: _with(one, own, told) for name, one in part.items()}
    return part.replace(own, told) if isinstance(part, str) else part


def _in_another_order(forged: Forged) -> None:
    """Let a button name the digest of another action where a reader might not look for it."""
    approve = next(block for block in forged.approval()["cards"][0]["blocks"] if block["type"] == "actions")
    value = {"digest": "0" * 16, "id": forged.approval()["id"], "stamp": "0" * 16}
    approve["elements"][0]["value"] = json.dumps(value, separators=(",", ":"))


SHOWN: dict[str, Lie] = {
    "a vote on a card that nobody was shown": ("votes.shown", "filed", _unshown),
    "a card that was shown after the vote": ("votes.shown", "filed", _shown_late),
    "a vote on no card though one was shown": ("votes.shown", "filed", _unnamed),
    "a card about another request": ("cards.about", "filed", _about(id="apr_other")),
    "a card about another action": ("cards.about", "filed", _about(digest="0" * 16)),
    "a card about another requirement": ("cards.about", "filed", _about(stamp="0" * 16)),
    "a card one button of which is about another action": ("cards.about", "filed", _in_another_order),
    "a card about nothing": (
        *("cards.about", "filed"),
        lambda f: f.approval().update(cards=[{"text": "File it?", "blocks": []}]),
    ),
}

SIZES: dict[str, Lie] = {
    "a card of more bytes than the program records": (
        *("cards.size", "filed"),
        lambda f: f.approval()["cards"][0].update(text="x" * MAX_CARD),
    ),
}

GROUPS = {"shown": SHOWN, "sizes": SIZES}
