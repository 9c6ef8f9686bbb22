"""Lies about classes of signers and a veto: a class that is not complete, and a veto that was passed over."""

from typing import Any

from tests.integration.forger import Bend, Forged, Lie


def _required(**changes: Any) -> Bend:
    """Return what changes the requirement, wherever it is told of."""

    def bend(forged: Forged) -> None:
        asked = [one["answer"]["requirement"] for one in forged.decisions.values()]
        for one in (forged.approval()["requirement"], forged.leaf("approval.requested")["data"]["requirement"], *asked):
            if one:
                one.update(changes)

    return bend


def _moved(person: str, *groups: str) -> Bend:
    """Return what has somebody have been of other groups when they voted, and when policy was told."""

    def bend(forged: Forged) -> None:
        told = [vote for decision in forged.decisions.values() for vote in decision["input"]["votes"]]
        for vote in (*forged.approval()["votes"], *told):
            if vote["person"] == person:
                vote["groups"] = [*groups]

    return bend


def _moved_as_told(person: str, *groups: str) -> Bend:
    """Return what has policy have been told other groups of somebody than they had when they voted."""

    def bend(forged: Forged) -> None:
        for vote in (vote for decision in forged.decisions.values() for vote in decision["input"]["votes"]):
            if vote["person"] == person:
                vote["groups"] = [*groups]

    return bend


def _passed_over(forged: Forged) -> None:
    """Let the request have been approved all the same when somebody with a veto said no."""
    forged.approval()["status"] = "approved"
    forged.leaf("approval.rejected")["event"] = "approval.approved"


def _without_veto(forged: Forged) -> None:
    """Let any no have ended it."""
    asked = [one["answer"]["requirement"] for one in forged.decisions.values()]
    for one in (forged.approval()["requirement"], forged.leaf("approval.requested")["data"]["requirement"], *asked):
        if one:
            del one["veto"]


def _class(quorum: int, *groups: str, all_groups: bool = False) -> dict[str, Any]:
    return {"groups": [*groups], "quorum": quorum, "all_groups": all_groups}


CLASSES: dict[str, Lie] = {
    "a class asked for more than signed": ("approvals.consent", "agreed", _required(classes=[_class(3, "risk")])),
    "a class of which nobody signed": ("approvals.consent", "agreed", _required(classes=[_class(1, "board")])),
    "one of a class was of another group": ("approvals.consent", "agreed", _moved("rik", "operations")),
    "one of a class was of another group when policy was told": (
        *("acts.approved", "agreed"),
        _moved_as_told("lea", "operations"),
    ),
    "each group of a class, and one has nobody": (
        *("approvals.consent", "agreed"),
        _required(classes=[_class(1, "legal", "board", all_groups=True)]),
    ),
}
VETO: dict[str, Lie] = {
    "a veto that was passed over": ("approvals.consent", "vetoed", _passed_over),
    "who said no had a veto": ("approvals.consent", "agreed", _required(veto=["legal", "operations"])),
    "who said no was of a group with a veto": ("approvals.consent", "agreed", _moved("oda", "operations", "legal")),
    "who said no had a veto when policy was told": (
        *("acts.approved", "agreed"),
        _moved_as_told("oda", "operations", "legal"),
    ),
    "a no that ended it, by somebody without a veto": ("votes.rejections", "vetoed", _moved("leo", "operations")),
    "a veto of which nobody knows, before one that ended it": (
        *("votes.rejections", "vetoed"),
        _required(veto=["legal", "operations"]),
    ),
    "any no ends it, and one did not": ("votes.rejections", "vetoed", _without_veto),
    "any no ends it, and votes followed": ("votes.rejections", "agreed", _without_veto),
}


CLASS_GROUPS = {"classes": CLASSES, "veto": VETO}
