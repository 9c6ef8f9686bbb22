"""Lies about votes: given for others, done without, by people who might not.

What somebody tells of votes that are given for others, or do without them; each lie is named by one rule.

What somebody tells who holds the signing key, of who voted, asked and claimed, and might not.
"""

import copy
from typing import Any

from tests.integration.forger import Bend, Forged, Json, Lie, change_leaf, later, sound


def _delegated(path: str, value: Any) -> Bend:
    """Return what changes the delegation of the vote that has one, also where policy was told of it."""

    def bend(forged: Forged) -> None:
        told = [vote for decision in forged.decisions.values() for vote in decision["input"]["votes"]]
        for vote in (*forged.approval()["votes"], *told):
            if path in vote.get("delegation", {}):
                vote["delegation"][path] = value
        if path == "delegator":
            next(leaf for leaf in forged.all("vote.counted") if path in leaf["data"])["data"][path] = value

    return bend


def _recorded(data: dict[str, Any] | None = None, **leaf: Any) -> Bend:
    """Return what tells something else of the act that recorded the delegation, soundly."""

    def bend(forged: Forged) -> None:
        (vote,) = (one for one in forged.approval()["votes"] if "delegation" in one)
        (act,) = vote["delegation"]["acts"]
        vote["delegation"]["acts"] = [sound({**act, **leaf, "data": {**act["data"], **(data or {})}})]

    return bend


def _recorded_later(forged: Forged) -> None:
    _recorded(at=later(forged.leaf("vote.counted")["at"], seconds=1))(forged)


def _told_unsoundly(forged: Forged) -> None:
    (vote,) = (one for one in forged.approval()["votes"] if "delegation" in one)
    vote["delegation"]["acts"][0]["data"]["reason"] = vote["delegation"]["reason"] = "away"


def _recorded_twice(forged: Forged) -> None:
    (vote,) = (one for one in forged.approval()["votes"] if "delegation" in one)
    vote["delegation"]["acts"] *= 2


def _undelegated(forged: Forged) -> None:
    """Let the vote have been the delegate's own, on record and as policy was told, but not on the chain."""
    told = [vote for decision in forged.decisions.values() for vote in decision["input"]["votes"]]
    for vote in (*forged.approval()["votes"], *told):
        vote.pop("delegation", None)


DELEGATED: dict[str, Lie] = {
    "for somebody, and the chain tells of nobody": ("votes.as-told", "delegated", _undelegated),
    "for who has voted": ("approvals.consent", "delegated", _delegated("delegator", "ben")),
    "for the requester": ("approvals.consent", "delegated", _delegated("delegator", "rita")),
    "by leave of the requester": ("approvals.consent", "delegated", _delegated("recorded_by", "rita")),
    "by their own leave": ("votes.for-others", "delegated", _delegated("recorded_by", "sam")),
    "before the delegation began": (
        *("votes.for-others", "delegated"),
        _delegated("starts_at", "2030-01-05T09:00:00.000000Z"),
    ),
    "when the delegation was over": (
        *("votes.for-others", "delegated"),
        _delegated("ends_at", "2020-01-05T09:00:00.000000Z"),
    ),
    "for groups that it does not give": ("votes.for-others", "delegated", _delegated("groups", ["legal"])),
    "for another reason than was recorded": ("delegations.recorded", "delegated", _delegated("reason", "away")),
    "for more groups than were recorded": (
        *("delegations.recorded", "delegated"),
        _delegated("groups", ["compliance", "board"]),
    ),
    "by another delegation than was recorded": (
        *("delegations.recorded", "delegated"),
        _delegated("delegation_id", "dlg_other"),
    ),
    "recorded for another delegate": ("delegations.recorded", "delegated", _recorded({"delegate": "cat"})),
    "recorded by another": ("delegations.recorded", "delegated", _recorded(actor={"id": "olga", "kind": "person"})),
    "recorded by a program": ("delegations.recorded", "delegated", _recorded(actor={"id": "omar", "kind": "agent"})),
    "recorded for another tenant": ("delegations.recorded", "delegated", _recorded(run_id="tenant_other")),
    "recorded in no form": ("delegations.recorded", "delegated", _recorded({"groups": []})),
    "an act that records nothing": ("delegations.recorded", "delegated", _recorded(event="delegation.ended")),
    "recorded after the vote": ("delegations.recorded", "delegated", _recorded_later),
    "an act that was changed": ("delegations.recorded", "delegated", _told_unsoundly),
    "recorded twice": ("delegations.recorded", "delegated", _recorded_twice),
    "by another delegation than policy was told of": (
        *("approvals.told", "delegated"),
        lambda f: next(one for one in f.approval()["votes"] if "delegation" in one)["delegation"].update(
            recorded_by="olga"
        ),
    ),
}


def _glass(said: dict[str, Any] | None = None, **vote: Any) -> Bend:
    """Return what changes the vote that used break-glass, wherever it is told of; `said` is of its `break_glass`."""

    def bend(forged: Forged) -> None:
        told = [one for decision in forged.decisions.values() for one in decision["input"]["votes"]]
        for one in (*forged.approval()["votes"], *told):
            one["break_glass"] |= said or {}
            one |= {name: value for name, value in vote.items() if name in one}
        if said:
            forged.leaf("vote.counted")["data"]["break_glass"] |= said

    return bend


def _unbroken(forged: Forged) -> None:
    """Let one vote have been enough by itself."""
    told = [one for decision in forged.decisions.values() for one in decision["input"]["votes"]]
    for one in (*forged.approval()["votes"], *told):
        one.pop("break_glass", None)
    forged.leaf("vote.counted")["data"].pop("break_glass")


def _bounded(**glass: Any) -> Bend:
    """Return what changes the glass of the requirement, wherever it is told of."""

    def bend(forged: Forged) -> None:
        asked = [one["answer"]["requirement"] for one in forged.decisions.values()]
        for one in (forged.approval()["requirement"], forged.leaf("approval.requested")["data"]["requirement"], *asked):
            if one:
                one["break_glass"] |= glass

    return bend


def _reviewed_otherwise(forged: Forged) -> None:
    """Let the review have been of another action."""
    review = forged.approval("afterwards")
    review["digest"] = forged.leaf("approval.requested", approval_id=review["id"])["data"]["digest"] = "cd" * 32


def _without_reason(forged: Forged) -> None:
    """Let nobody have had to say why, and nobody have said it."""
    asked = [one["answer"]["requirement"] for one in forged.decisions.values()]
    for one in (forged.approval()["requirement"], forged.leaf("approval.requested")["data"]["requirement"], *asked):
        if one:
            one["reason_required"] = False
    forged.approval()["votes"][0]["reason"] = "  "


def _broken_before(forged: Forged) -> None:
    """Let the same person have broken it just before, and have taken that back."""
    counted, approval = forged.leaf("vote.counted"), forged.approval()
    said = {name: counted["data"][name] for name in ("approval_id", "person")}
    first = {**counted, "data": dict(counted["data"])}
    taken_back = {**counted, "event": "vote.withdrawn", "data": {**said, "reason": "too early"}}
    place = forged.leaves.index(counted)
    forged.leaves[place:place] = copy.deepcopy([first, taken_back])
    approval["votes"].append(copy.deepcopy(approval["votes"][0]))


def _broke_none(forged: Forged) -> None:
    """Let the vote that was taken back have used break-glass."""
    said = {"ticket": "INC-7", "nth": 1}
    forged.approval()["votes"][0]["break_glass"] = forged.leaf("vote.counted")["data"]["break_glass"] = said


def _answered(forged: Forged, status: str, **vote: Any) -> None:
    """Let the review have ended otherwise, with a vote that is told otherwise, or with none."""
    review = forged.approval("afterwards")
    counted = forged.leaf("vote.counted", approval_id=review["id"])
    forged.leaf("approval.approved", approval_id=review["id"])["event"] = f"approval.{status}"
    review["status"] = status
    review["votes"][0] |= vote
    counted["data"]["person"] = counted["actor"]["id"] = review["votes"][0]["person"]
    if not vote:
        forged.drop(counted)
        forged.leaf(f"approval.{status}", approval_id=review["id"])["data"]["votes"] = 0
        review["votes"] = []


def _reviewed_twice(forged: Forged) -> None:
    """Let people have been asked twice at once, and have answered both."""
    review = forged.approval("afterwards")
    forged.approvals["apr_twice"] = copy.deepcopy(review) | {"id": "apr_twice"}
    for event in ("approval.requested", "vote.counted", "approval.approved"):
        leaf = forged.leaf(event, approval_id=review["id"])
        again = copy.deepcopy(leaf)
        again["data"]["approval_id"] = again["correlation"]["approval_id"] = "apr_twice"
        forged.leaves.insert(forged.leaves.index(leaf) + 1, again)


GLASS: dict[str, Lie] = {
    "one vote that was enough, and broke no glass": ("approvals.consent", "glass", _unbroken),
    "glass broken by somebody who is not named": ("approvals.consent", "glass", _glass(groups=["legal"])),
    "glass broken more often than one may": ("approvals.consent", "glass", _glass({"nth": 3})),
    "glass broken by another ticket than the chain tells": (
        *("votes.as-told", "glass"),
        lambda f: f.approval()["votes"][0]["break_glass"].update(ticket="INC-8"),
    ),
    "glass broken without saying why": ("votes.break-glass", "glass", _without_reason),
    "glass that nobody reviews": ("votes.break-glass", "glass", _reviewed_otherwise),
    "glass reviewed by others than policy named": (
        *("approvals.of-break-glass-review", "glass"),
        _bounded(review_by=["legal"]),
    ),
    "glass reviewed later than policy wants": (
        "approvals.of-break-glass-review",
        "glass",
        _bounded(review_within="P1D"),
    ),
    "glass reviewed by who broke it": (
        *("approvals.of-break-glass-review", "glass"),
        lambda f: f.approval("afterwards")["requirement"].update(exclude=["portal-bot", "rita"]),
    ),
    "glass broken by a ticket that is blank": ("votes.break-glass", "glass", _glass({"ticket": " "})),
    "glass broken more often than it says": ("votes.break-glass", "glass", _broken_before),
    "glass of which more is told than the chain tells": (
        *("votes.as-told", "glass"),
        lambda f: f.approval()["votes"][0]["break_glass"].update(more=1),
    ),
    "glass of a truth in the place of a number": (
        *("votes.as-told", "glass"),
        lambda f: f.leaf("vote.counted")["data"]["break_glass"].update(nth=True),
    ),
    "glass broken where there is none, and taken back": ("votes.break-glass", "withdrawn", _broke_none),
    "a review of glass that nobody broke": (
        *("approvals.of-break-glass-review", "doubt"),
        lambda f: f.approval("in_doubt").update(kind="afterwards"),
    ),
    "glass whose review was called off": ("approvals.ended", "glass", lambda f: _answered(f, "canceled")),
    "glass whose review expired": ("approvals.ended", "glass", lambda f: _answered(f, "expired")),
    "glass that was reviewed by who broke it, and found wrong": (
        *("votes.entitled", "glass"),
        lambda f: _answered(f, "rejected", person="ivy", verdict="reject"),
    ),
    "glass of which somebody asks for changes": (
        *("votes.rejections", "glass"),
        lambda f: _answered(f, "rejected", verdict="changes"),
    ),
    "glass that is reviewed until somebody finds it right": ("votes.break-glass", "glass", _reviewed_twice),
    "glass whose review does not end": ("approvals.ended", "glass", lambda f: _never_closed(f, "afterwards")),
}


def _never_closed(forged: Forged, kind: str) -> None:
    """Let nobody have answered."""
    review = forged.approval(kind)
    for event in (f"approval.{review['status']}", "vote.counted"):
        forged.drop(forged.all(event, approval_id=review["id"])[-1])
    review |= {"status": "requested", "votes": []}


def _told(vote: Json, leaf: Json, person: str) -> None:
    """Let a vote, and its leaf, be of somebody else."""
    vote["person"] = leaf["data"]["person"] = leaf["actor"]["id"] = person


def _voted(person: str = "ann", number: int = 0, **members: Any) -> Bend:
    """Return what tells of a vote that it was somebody else's, or was given otherwise."""

    def bend(forged: Forged) -> None:
        leaf = forged.leaf("vote.counted", number)
        vote = next(one for one in forged.approval()["votes"] if one["person"] == leaf["data"]["person"])
        _told(vote, leaf, person)
        vote.update(members)

    return bend


def _excluded(forged: Forged) -> None:
    """Let policy have excluded who rejected it."""
    requirements = (decision["answer"]["requirement"] for decision in forged.decisions.values())
    for requirement in (forged.approval()["requirement"], *requirements):
        if requirement:
            requirement["exclude"] = ["ann"]


def _again(forged: Forged) -> None:
    """Let the last vote have been a second one of ann's, whose first one was taken back only after that."""
    forged.drop(forged.leaf("approval.handed"))
    told = [vote for decision in forged.decisions.values() for vote in decision["input"]["votes"]]
    vote = next(one for one in forged.approval()["votes"] if one["person"] == "cat")
    last = forged.all("vote.counted")[-1]
    _told(vote, last, "ann")
    for one in told:
        one["person"] = one["person"].replace("cat", "ann")
    forged.move(forged.leaf("vote.withdrawn"), after=last)


def _one_account(forged: Forged) -> None:
    """Let the first vote, which was taken back only then, have come from the account of the second."""
    forged.drop(forged.leaf("approval.handed"))
    first, second = forged.approval()["votes"][:2]
    first["slack"] = copy.deepcopy(second["slack"])
    forged.move(forged.leaf("vote.withdrawn"), after=forged.leaf("vote.counted", 1))


def _approved_after(forged: Forged) -> None:
    """Let somebody have approved it before the rejection ended it."""
    first, approval = forged.leaf("vote.counted"), forged.approval()
    made, account = copy.deepcopy(first), {"team": "T0ACME", "user": "UBEN"}
    approval["votes"].append({**approval["votes"][0], "verdict": "approve", "slack": account})
    _told(approval["votes"][1], made, "ben")
    forged.leaves.insert(forged.leaves.index(first) + 1, made)
    forged.leaf("approval.rejected")["data"]["votes"] = 2


def _claimed_by(person: str) -> Bend:
    """Return what has somebody else claim a review and give it back."""

    def bend(forged: Forged) -> None:
        for leaf in (forged.leaf("task.claimed"), forged.leaf("task.released")):
            leaf["actor"]["id"] = leaf["data"]["person"] = person

    return bend


def _fell_back_later(forged: Forged) -> None:
    """Let it have gone to others once more."""
    place = forged.leaves.index(forged.leaf("vote.counted"))
    forged.leaves.insert(place, copy.deepcopy(forged.leaf("approval.fell_back")))


def _not_said(forged: Forged) -> None:
    del forged.leaf("approval.fell_back")["data"]["to"]


def _by_person(forged: Forged, event: str, after: Json, person: str, **data: Any) -> None:
    """Add what somebody did with a review."""
    about = {name: forged.leaf("task.claimed")["correlation"][name] for name in ("step", "approval_id")}
    said = {"approval_id": about["approval_id"], "person": person, **data}
    forged.add(event, after, said, **about)["actor"] = {"id": person, "kind": "person"}


def _claimed_when_over(forged: Forged) -> None:
    _by_person(forged, "task.claimed", forged.leaf("approval.approved"), "cat", **{"from": None})


def _handed_by_another(forged: Forged) -> None:
    """Let somebody have handed on what another works on, so that it is a third one's."""
    claimed = forged.leaf("task.claimed", 1)
    _by_person(forged, "approval.handed", claimed, "cat", to="dan", reason="they are away")
    forged.leaf("task.claimed", 2)["data"]["from"] = "dan"


def _unallowed(forged: Forged) -> None:
    del forged.leaf("run.cancel_requested")["data"]["policy"]


_NOBODY = ["payments-owners"]

VOTERS: dict[str, Lie] = {
    "rejected by the requester": ("votes.entitled", "rejected", _voted("rita")),
    "rejected by somebody of no group that was asked": ("votes.entitled", "rejected", _voted(groups=_NOBODY)),
    "rejected by somebody whom policy excludes": ("votes.entitled", "rejected", _excluded),
    "approved by another once it was rejected": ("votes.rejections", "rejected", _approved_after),
    "changes requested by the requester": ("votes.entitled", "changed", _voted("rita")),
    "taken back by somebody of no group that was asked": ("votes.entitled", "withdrawn", _voted(groups=_NOBODY)),
    "taken back by who is next in line, and was not asked yet": (
        *("votes.entitled", "withdrawn"),
        _voted(groups=["senior-compliance"]),
    ),
    "two votes of one person at one time": ("votes.entitled", "withdrawn", _again),
    "two votes from one account at one time": ("votes.accounts", "withdrawn", _one_account),
    "a reason of nothing but a space that few know": ("votes.reasons", "rejected", _voted(reason="ab\x85")),
    "a truth in the place of a number": (
        *("votes.counted", "rejected"),
        change_leaf("approval.rejected", "data.votes", value=True),
    ),
}

OTHERS: dict[str, Lie] = {
    "claimed by the requester": ("tasks.claimed", "claimed", _claimed_by("rita")),
    "claimed when it was over": ("tasks.claimed", "claimed", _claimed_when_over),
    "handed on by somebody who does not work on it": ("tasks.claimed", "claimed", _handed_by_another),
    "went to others without saying why": (
        *("approvals.fell-back", "fell_back"),
        change_leaf("approval.fell_back", "data.why", ""),
    ),
    "went to others without saying to whom": ("approvals.consent", "fell_back", _not_said),
    "went to others later": ("approvals.fell-back", "fell_back", _fell_back_later),
    "canceled by nobody's leave": ("run.moves", "canceled", _unallowed),
    "canceled without a word": (
        *("run.moves", "canceled"),
        lambda f: f.leaf("run.cancel_requested")["data"].pop("reason"),
    ),
}

VOTER_GROUPS = {"voters": VOTERS, "others": OTHERS}
