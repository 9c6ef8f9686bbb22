"""What somebody tells who holds the signing key, of who voted, asked and claimed, and might not."""

import copy
from typing import Any

from tests.integration.forger import Bend, Forged, Json, Lie, change_leaf


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
    "went to others without saying to whom": ("approvals.fell-back", "fell_back", _not_said),
    "went to others later": ("approvals.fell-back", "fell_back", _fell_back_later),
    "canceled by nobody's leave": ("run.moves", "canceled", _unallowed),
    "canceled without a word": (
        *("run.moves", "canceled"),
        lambda f: f.leaf("run.cancel_requested")["data"].pop("reason"),
    ),
}

GROUPS = {"voters": VOTERS, "others": OTHERS}
