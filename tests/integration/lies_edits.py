"""What somebody tells who holds the signing key, about requests that were edited and resubmitted."""

import copy
from typing import Any

from tests.integration.forger import Bend, Forged, Json, Lie, change, change_leaf


def _first(forged: Forged) -> Json:
    """Return the request that was edited."""
    return next(one for one in forged.approvals.values() if "edited" in one)


def _second(forged: Forged) -> Json:
    """Return the request that was asked in its place."""
    return next(one for one in forged.approvals.values() if "edited" not in one and one["kind"] == "effect")


def _edit(path: str, value: Any) -> Bend:
    return lambda f: change(path, value)(_first(f)["edited"])


def _by(person: str) -> Bend:
    """Let somebody else have edited it."""

    def bend(forged: Forged) -> None:
        _first(forged)["edited"]["person"] = person
        leaf = forged.leaf("effect.edited")
        leaf["actor"]["id"] = leaf["data"]["person"] = person

    return bend


def _later(forged: Forged) -> list[Json]:
    """Return the decisions of which policy was told that the effect had been edited."""
    return [one for one in forged.decisions.values() if "edited" in one["input"]]


def _told(path: str, value: Any) -> Bend:
    return lambda f: [change(path, value)(one["input"]) for one in _later(f)]


def _untold(forged: Forged) -> None:
    for decision in _later(forged):
        del decision["input"]["edited"]


def _let_editor_sign(forged: Forged) -> None:
    for decision in forged.decisions.values():
        if "edited" in decision["input"] and decision["answer"]["requirement"]:
            decision["answer"]["requirement"]["exclude"].remove("cat")
    _second(forged)["requirement"]["exclude"].remove("cat")


def _under_the_first(forged: Forged) -> None:
    """Let the edited values have been performed under the approval that was asked for before."""
    receipt = forged.receipt("success", "file")
    receipt["approval_id"] = forged.leaf_of(receipt)["correlation"]["approval_id"] = _first(forged)["id"]


def _first_performed(forged: Forged) -> None:
    """Let the values have been performed that were asked for first, with what people said of the edited ones."""
    receipt, first = forged.receipt("success", "file"), _first(forged)
    asked = forged.decision("needs_approval", "file")["input"]["effect"]
    forged.decision("allow", "file")["input"]["effect"] = copy.deepcopy(asked)
    receipt.update(fingerprint=first["digest"], request=copy.deepcopy(asked["fields"]))


def _unedited(forged: Forged) -> None:
    """Leave out that it was edited, and who had."""
    del _first(forged)["edited"]
    forged.drop(forged.leaf("effect.edited"))


def _edited_nowhere(forged: Forged) -> None:
    """Let a request tell of an edit, and nothing else."""
    account = {"team": "T0ACME", "user": "UANN"}
    said = {"person": "ann", "groups": ["compliance"], "reason": "fewer", "slack": account}
    action = {"from": "0" * 64, "to": "1" * 64, "changes": [{"param": "copies", "after": 1}]}
    forged.approval()["edited"] = {**said, **action, "at": forged.approval()["requested_at"]}


def _vote_first(forged: Forged) -> None:
    """Let who edited it have voted on it before."""
    first = _first(forged)
    first["edited"]["person"] = first["votes"][0]["person"]
    leaf = forged.leaf("effect.edited")
    leaf["actor"]["id"] = leaf["data"]["person"] = first["votes"][0]["person"]


def _another_text(forged: Forged) -> None:
    """Let policy have been told of more than was edited."""
    for decision in _later(forged):
        decision["input"]["effect"]["fields"]["text"] = "another report"


def _editable(*params: str) -> Bend:
    """Let the verb that was edited name these params, and no others."""

    def bend(forged: Forged) -> None:
        verb = next(verb for verb in forged.definition["verbs"].values() if verb.get("editable"))
        verb["editable"] = list(params)

    return bend


def _edited_to_the_same(forged: Forged) -> None:
    """Let what was edited have been one param more, to what it was."""
    fields = forged.decision("needs_approval", "file")["input"]["effect"]["fields"]
    _editable("copies", "urgent", "company")(forged)
    company = {"param": "company", "before": fields["company"], "after": fields["company"]}
    _first(forged)["edited"]["changes"].append(company)


LEAVES: dict[str, Lie] = {
    "an edit is not by who made it": ("edits.as-told", "edited", change_leaf("effect.edited", "actor.id", "ann")),
    "its leaf says another digest before": (
        *("edits.as-told", "edited"),
        change_leaf("effect.edited", "data.from", "0" * 64),
    ),
    "its file names somebody else": ("edits.as-told", "edited", _edit("person", "ann")),
    "its file says another moment": ("edits.as-told", "edited", _edit("at", "2026-01-05T10:00:00.000000Z")),
    "it is left out of the file": ("edits.as-told", "edited", lambda f: _first(f).pop("edited")),
    "it is left out of the chain": (
        *("decisions.of-effect", "edited"),
        lambda f: f.drop(f.leaf("effect.edited")),
    ),
    "a file tells of an edit that nobody made": ("edits.as-told", "rejected", _edited_nowhere),
    "nobody edited": ("decisions.of-effect", "edited", _unedited),
}

PEOPLE: dict[str, Lie] = {
    "the requester edited": ("edits.entitled", "edited", _by("rita")),
    "who edited had voted": ("edits.entitled", "edited", _vote_first),
    "who edited is in no group that was asked": ("edits.entitled", "edited", _edit("groups", ["payments-owners"])),
    "an edit without a reason": ("edits.entitled", "edited", _edit("reason", " ")),
    "what was edited is another action than was asked about": (
        *("edits.in-place", "edited"),
        lambda f: [_edit("from", "0" * 64)(f), change_leaf("effect.edited", "data.from", "0" * 64)(f)],
    ),
    "what was edited was not ended by that": (
        *("approvals.ended", "edited"),
        lambda f: f.move(f.leaf("approval.canceled"), after=f.leaf("vote.counted")),
    ),
    "who edited may sign": ("edits.apart", "edited", _let_editor_sign),
}

VALUES: dict[str, Lie] = {
    "an edit of what nobody may edit": (
        *("edits.changes", "edited"),
        lambda f: change("changes.0.param", "company")(_first(f)["edited"]),
    ),
    "an edit of what its verb does not name": ("edits.changes", "edited", _editable("urgent")),
    "an edit of one param to what it was": ("edits.changes", "edited", _edited_to_the_same),
    "an edit from another value": ("edits.changes", "edited", _edit("changes.0.before", 9)),
    "an edit to another value": ("edits.changes", "edited", _edit("changes.0.after", 5)),
    "an edit that changed nothing": (
        *("edits.changes", "edited"),
        lambda f: _first(f)["edited"]["changes"][0].update(before=4),
    ),
    "more than was edited": ("edits.changes", "edited_twice", _another_text),
    "policy was not told": ("edits.told", "edited", _untold),
    "policy was told of somebody else": ("edits.told", "edited", _told("edited.by", ["ann"])),
    "policy was told of other values": ("edits.told", "edited", _told("edited.requested", {"copies": 4})),
    "policy was told of an edit that nobody made": (
        *("edits.told", "filed"),
        lambda f: f.decision("allow", "file")["input"].update(edited={"by": ["ann"], "requested": {}}),
    ),
}

ACTS: dict[str, Lie] = {
    "edited values under the first approval": ("acts.approved", "edited", _under_the_first),
    "the first values under the second approval": ("decisions.of-effect", "edited", _first_performed),
}

GROUPS = {"edits on record": LEAVES, "who edited": PEOPLE, "what was edited": VALUES, "what then acted": ACTS}
