"""Lies about what happened while a run waited: who was asked, for how much longer, and what was started."""

import copy
from typing import Any

from tests.integration.forger import Forged, Lie, change, later

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


def as_first_release(forged: Forged) -> None:
    """Have the requirements name those next in line as the first release did: their groups, without their times."""
    asked = [approval["requirement"] for approval in forged.approvals.values()]
    asked += [said for one in forged.decisions.values() if (said := one["answer"]["requirement"])]
    for requirement in asked:
        line = requirement["escalate_to"]
        requirement["escalate_to"] = list(dict.fromkeys(group for entry in line for group in entry["to"]))


def _first_release_too_soon(forged: Forged) -> None:
    as_first_release(forged)
    leaf = forged.leaf(EVENT)
    leaf["at"] = later(leaf["at"], seconds=-1)


def _first_release_to_others(forged: Forged) -> None:
    as_first_release(forged)
    forged.approval("task")["requirement"]["escalate_to"].append("board")


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
    "those of the first release before three quarters of the time": (
        "waits.escalated",
        "expired",
        _first_release_too_soon,
    ),
    "a review of the first release by others": ("approvals.of-review", "unreviewed", _first_release_to_others),
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
