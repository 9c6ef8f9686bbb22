"""Lies about edits, windows and patience: what was resubmitted, and when it was carried out.

What somebody tells who holds the signing key, about requests that were edited and resubmitted.

What somebody tells who holds the signing key, about when what was allowed had been carried out.

Lies about what happened while a run waited: who was asked, for how much longer, and what was started.
"""

import copy
from typing import Any

from tests.integration.forger import Bend, Forged, Json, Lie, change, change_leaf, later


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

EDIT_GROUPS = {"edits on record": LEAVES, "who edited": PEOPLE, "what was edited": VALUES, "what then acted": ACTS}


_WAITS = "effect.waiting"


def _window(**change: Any) -> Bend:
    """Return what has policy say another time in all that was decided on and asked."""

    def bend(forged: Forged) -> None:
        for decision in forged.decisions.values():
            for said in (decision["answer"].get("execute"), (decision["answer"]["requirement"] or {}).get("execute")):
                if said:
                    said.update(change)
        for approval in forged.approvals.values():
            if "execute" in approval["requirement"]:
                approval["requirement"]["execute"].update(change)

    return bend


def _unsaid(forged: Forged) -> None:
    """Have only the decision that deferred say nothing of a window."""
    forged.decisions[forged.leaf(_WAITS)["data"]["decision_id"]]["answer"].pop("execute")


def _early(forged: Forged) -> None:
    """Have it begin, and all that followed, the day before."""
    deferred = forged.leaf(_WAITS)
    after = forged.leaves[forged.leaves.index(deferred) + 1 :]
    forged.delay(next(leaf for leaf in after if leaf["at"] > deferred["at"]), hours=-3)


def _late(forged: Forged) -> None:
    deferred = forged.leaf(_WAITS)
    after = forged.leaves[forged.leaves.index(deferred) + 1 :]
    forged.delay(next(leaf for leaf in after if leaf["at"] > deferred["at"]), hours=9)


WINDOWS: dict[str, Lie] = {
    "begun before the window": ("acts.in-window", "windowed", _early),
    "begun when it was shut again": ("acts.in-window", "windowed", _late),
    "nothing said of the one that deferred": ("effects.waiting", "windowed", _unsaid),
    "deferred by another decision": ("effects.waiting", "windowed", change_leaf(_WAITS, "data.decision_id", "dec_x")),
    "another opening": (
        "effects.waiting",
        "windowed",
        change_leaf(_WAITS, "data.opens_at", "2026-01-06T08:01:00.000000Z"),
    ),
    "an opening before": (
        "effects.waiting",
        "windowed",
        change_leaf(_WAITS, "data.opens_at", "2026-01-06T07:59:00.000000Z"),
    ),
    "another beginning of its time": (
        *("effects.waiting", "windowed"),
        change_leaf(_WAITS, "data.since", "2026-01-05T08:59:00.000000Z"),
    ),
    "more time": ("effects.waiting", "windowed", change_leaf(_WAITS, "data.until", "2026-01-09T09:00:00.000000Z")),
    "in a zone that nobody knows": ("acts.in-window", "windowed", _window(time_zone="Europe/Nowhere")),
    "on another day": (
        *("acts.in-window", "windowed"),
        _window(between=[{"days": ["wed"], "from": "09:00", "until": "17:00"}]),
    ),
    "not before another moment": ("acts.in-window", "windowed", _window(not_before="2026-01-06T10:00:00Z")),
    "more time to use the approval": (
        *("approvals.told", "windowed"),
        lambda f: next(d for d in f.decisions.values() if d["input"]["approval"])["input"]["approval"].update(
            usable_until="2026-01-09T09:00:00.000000Z"
        ),
    ),
    "no time to use the approval": (
        *("approvals.told", "windowed"),
        lambda f: next(d for d in f.decisions.values() if d["input"]["approval"])["input"]["approval"].pop(
            "usable_until"
        ),
    ),
}
WINDOW_GROUPS = {"windows": WINDOWS}


EVENT = "wait.escalated"


def _entry(number: int, path: str, value: Any) -> Any:
    """Bend one escalation's leaf."""
    return lambda f: change(path, value)(f.leaf(EVENT, number))


def _drop(number: int) -> Any:
    return lambda f: f.drop(f.leaf(EVENT, number))


def _vote_as_asked_before(forged: Forged) -> None:
    """Let the one who was asked third have voted before she was asked."""
    vote, escalation = forged.leaf("vote.counted"), forged.leaf(EVENT, 1)
    forged.move(escalation, after=vote)


PATIENCE: dict[str, Lie] = {
    "more time than the entry gives": (
        *("waits.escalated", "prolonged"),
        lambda f: f.leaf(EVENT, 1)["data"].update(deadline=later(f.leaf(EVENT, 1)["data"]["deadline"], days=1)),
    ),
    "time where the entry gives none": (
        *("waits.escalated", "prolonged"),
        lambda f: f.leaf(EVENT, 0)["data"].update(deadline=f.leaf(EVENT, 1)["data"]["deadline"]),
    ),
    "no time where the entry gives some": (
        *("votes.in-time", "prolonged"),
        lambda f: f.leaf(EVENT, 1)["data"].pop("deadline"),
    ),
    "others than the entry names": ("waits.escalated", "prolonged", _entry(0, "data.to", ["board"])),
    "the second before the first": ("waits.escalated", "prolonged", _drop(0)),
    "nobody was asked before it expired": ("waits.escalated", "expired", lambda f: f.drop(f.leaf(EVENT))),
    "not all were asked before a review expired": ("waits.escalated", "unreviewed", _drop(-1)),
    "not all were asked before an answer was given up": ("waits.escalated", "asked_longer", _drop(-1)),
    "an entry twice": (
        *("waits.escalated", "prolonged"),
        lambda f: f.leaves.insert(f.leaves.index(f.leaf(EVENT)) + 1, copy.deepcopy(f.leaf(EVENT))),
    ),
    "whom the verb would ask, where the step says others": (
        "waits.escalated",
        "asked_here",
        _entry(0, "data.to", ["operators"]),
    ),
    "a review that would be asked of others later than it was": (
        *("approvals.of-review", "unreviewed"),
        lambda f: f.approval("task")["requirement"]["escalate_to"][0].update(after="P6D"),
    ),
    "policy said later": (
        *("waits.escalated", "expired"),
        lambda f: [
            one["requirement"]["escalate_to"][0].update(after="PT7H")
            for one in (f.approval(), f.decision("needs_approval", "file")["answer"])
        ],
    ),
    "an entry that policy did not give": ("waits.escalated", "expired", _entry(0, "data.entry", 1)),
    "a review that would be asked of more than it was": (
        *("approvals.of-review", "unreviewed"),
        lambda f: f.approval("task")["requirement"]["escalate_to"][0]["to"].append("board"),
    ),
    "an entry that there is not": ("waits.escalated", "unreviewed", _entry(2, "data.entry", 3)),
    "an entry before its time": (
        *("waits.escalated", "prolonged"),
        lambda f: f.leaf(EVENT).update(at=later(f.leaf(EVENT)["at"], days=-1)),
    ),
    "another wait": ("waits.escalated", "prolonged", _entry(0, "data.wait_id", "wait_other")),
    "another runbook": ("waits.escalated", "unreviewed", _entry(2, "data.started.runbook", "patience-note")),
    "a run that nobody wanted": (
        *("waits.escalated", "prolonged"),
        _entry(0, "data.started", {"runbook": "patience-rescue", "run_id": "run_1"}),
    ),
    "started, and not": ("waits.escalated", "unreviewed", _entry(2, "data.started.error", "no such runbook")),
    "neither started nor not": (
        *("waits.escalated", "unreviewed"),
        lambda f: f.leaf(EVENT, 2)["data"]["started"].pop("run_id"),
    ),
    "nothing started": ("waits.escalated", "unreviewed", lambda f: f.leaf(EVENT, 2)["data"].pop("started")),
    "voted before she was asked": ("approvals.consent", "prolonged", _vote_as_asked_before),
    "expired before the time that was given": (
        *("approvals.ended", "unreviewed"),
        lambda f: f.delay(f.leaf("approval.expired"), days=-1),
    ),
    "given up before the time that was given": (
        *("waits.ended", "asked_longer"),
        lambda f: f.delay(f.leaf("wait.timed_out"), days=-1),
    ),
}
