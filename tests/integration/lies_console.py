"""Lies about votes in the console: of another request, by another way, or from one account."""

import copy
from typing import Any

from receipts import canonical
from tests.integration.forger import Bend, Forged, Json, Lie


def _vote(forged: Forged) -> Json:
    """Return the vote that was given in the console."""
    (vote,) = (one for one in forged.approval()["votes"] if "console" in one)
    found: Json = vote
    return found


def _told(forged: Forged) -> list[Json]:
    """Return that vote as policy was told of it."""
    told = [vote for decision in forged.decisions.values() for vote in decision["input"]["votes"]]
    return [vote for vote in told if vote["person"] == _vote(forged)["person"]]


def _shown(**said: Any) -> Bend:
    return lambda forged: _vote(forged)["console"]["shown"].update(said)


def _otherwise(forged: Forged) -> None:
    """Let it have come from Slack, on record and as policy was told."""
    for vote in _told(forged):
        vote.pop("via")
    for name in ("via", "brought_by"):
        _vote(forged).pop(name)


def _untold(forged: Forged) -> None:
    for vote in _told(forged):
        vote.pop("via")


def _told_only(forged: Forged) -> None:
    """Let policy have been told that the other vote came by the console, too."""
    told = [vote for decision in forged.decisions.values() for vote in decision["input"]["votes"]]
    for vote in told:
        vote["via"] = "console"


def _one_account(forged: Forged) -> None:
    """Let the other vote have come by the same account of the console."""
    (other,) = (one for one in forged.approval()["votes"] if "console" not in one)
    other.update(via="console", brought_by="", console=copy.deepcopy(_vote(forged)["console"]))
    _told_only(forged)


def _pageless(forged: Forged) -> None:
    _vote(forged).pop("console")


def _ahead(status: str) -> Bend:
    """Let the page have shown the request as it is when it has ended."""

    def bend(forged: Forged) -> None:
        record = forged.approval()
        stamp = canonical.digest([record["digest"], record["requirement"], status])[:16]
        _shown(stamp=stamp)(forged)

    return bend


CONSOLE: dict[str, Lie] = {
    "on a page of another request": ("votes.console", "consoled", _shown(id="apr_" + "0" * 24)),
    "on a page of another action": ("votes.console", "consoled", _shown(digest="0" * 64)),
    "on a page of another state": ("votes.console", "consoled", _ahead("approved")),
    "on no page": ("votes.console", "consoled", _pageless),
    "on a page, and from Slack": ("votes.console", "consoled", _otherwise),
    "in the console, and policy was not told": ("acts.approved", "consoled", _untold),
    "in Slack, and policy was told otherwise": ("acts.approved", "consoled", _told_only),
    "two people by one account": ("votes.accounts", "consoled", _one_account),
    "brought by a caller": (
        *("votes.brought", "consoled"),
        lambda forged: _vote(forged).update(brought_by="portal-bot"),
    ),
}

CONSOLE_GROUPS = {"console": CONSOLE}
