"""Lines of the index: a run's line, and what is known of its votes, as the leaves of its chain tell them.

An export is made and checked with this: the leaves come from the database, from a bundle, or from the log's entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evidence.export.approvals_table import decision_of, meaning_of, required_of
from evidence.export.index import RunEntry
from receipts.chain import (
    APPROVAL_REQUESTED,
    EFFECT_EDITED,
    EVIDENCE_BEGUN,
    RUN_ENDED,
    RUN_QUEUED,
    VOTE_COUNTED,
    VOTE_WITHDRAWN,
    Leaf,
)

_STATUSES = frozenset(
    {"queued", "running", "waiting_approval", "waiting", "failed_retryable", "needs_attention"}
    | {event.removeprefix("run.") for event in RUN_ENDED}
)
_STATES = {"evidence.sealed": "sealed", "evidence.stuck": "sealing", EVIDENCE_BEGUN: "sealing"}
_PROPOSED, _REJECTED = "effect.proposed", "approval.rejected"
_IN_SEALING = ("sealing", "stuck")
"""Which of these it is depends on more than the chain."""


@dataclass
class VoteTold:
    """A vote as the leaves tell it: its columns in the table, but for those that only the bundle has."""

    row: dict[str, Any]
    digest: str
    kind: str
    verdict: str
    ticket: str
    leaves_open: bool = False
    is_withdrawn: bool = False


@dataclass
class RunTold:
    """A run as the leaves tell it that were added so far; a member of its line is None where they tell nothing."""

    line: dict[str, Any] = field(default_factory=dict)
    leaves: int = 0
    newest: str = ""
    votes: list[VoteTold] = field(default_factory=list)
    _asked: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _targets: dict[str | None, Any] = field(default_factory=dict)

    @property
    def is_queued(self) -> bool:
        """Return whether the leaves begin as those of a run do."""
        return "run_id" in self.line

    def add(self, leaf: Leaf) -> None:
        """Take the next leaf of the chain."""
        self.leaves += 1
        self.newest = max(self.newest, leaf.at)
        kind, _, word = leaf.event.partition(".")
        if leaf.event == RUN_QUEUED and self.leaves == 1:
            self.line = _queued(leaf)
        if kind == "run" and word in _STATUSES:
            self._move(leaf, word)
        elif leaf.event in _STATES:
            sealed = leaf.data if leaf.event == "evidence.sealed" else {}
            self.line.update(state=_STATES[leaf.event], sha256=sealed.get("sha256"), size=sealed.get("size"))
        elif leaf.event == _PROPOSED:
            self._targets[leaf.correlation.effect_id] = leaf.data.get("target")
        elif leaf.event == EFFECT_EDITED:  # an edit may change the target, and the leaf does not tell to which
            self._targets.pop(leaf.correlation.effect_id, None)
        elif leaf.event == APPROVAL_REQUESTED:
            self._asked[str(leaf.data.get("approval_id"))] = leaf.data
        elif leaf.event == VOTE_COUNTED:
            self.votes.append(self._vote(leaf))
        elif leaf.event == _REJECTED:
            self._end(str(leaf.data.get("approval_id")))
        elif leaf.event == VOTE_WITHDRAWN:
            self._withdraw(str(leaf.data.get("digest")))

    def rows(self, since: str, until: str) -> list[dict[str, Any]]:
        """Return what is told of the votes from one moment until before another."""
        line = self.line
        shared = {name: line.get(name) for name in ("run_id", "requested_by", "reference")}
        version = f"{line['definition']} v{line['definition_version']}" if line.get("definition") else None
        shared |= {"definition": version, "bundle_sha256": line.get("sha256") or ""}
        return [{**vote.row, **shared, **_said(vote)} for vote in self.votes if since <= vote.row["at"] < until]

    def _move(self, leaf: Leaf, word: str) -> None:
        self.line["outcome"] = leaf.data.get("outcome") or word
        if leaf.event in RUN_ENDED:
            self.line.update(finished_at=leaf.at, state="unsealed")
        else:
            self.line["why"] = f"not ended: {word}"

    def _vote(self, leaf: Leaf) -> VoteTold:
        approval_id, break_glass = str(leaf.data.get("approval_id")), leaf.data.get("break_glass") or {}
        asked = self._asked.get(approval_id, {})
        row = {
            "at": leaf.at,
            "person": str(leaf.data.get("person")),
            "approval_id": approval_id,
            "step": leaf.correlation.step or "",
            "target": self._targets.get(leaf.correlation.effect_id),
            "required": required_of(asked.get("requirement") or {}),
        }
        told = (str(leaf.data.get("digest", "")), str(asked.get("kind")), str(leaf.data.get("verdict")))
        has_veto = bool((asked.get("requirement") or {}).get("veto")) and leaf.data.get("verdict") != "approve"
        return VoteTold(row, *told, str(break_glass.get("ticket", "")), leaves_open=has_veto)

    def _end(self, approval_id: str) -> None:
        """Take the last vote on an approval for the one that rejected it: leaves do not tell the groups of votes."""
        for vote in [vote for vote in self.votes if vote.row["approval_id"] == approval_id][-1:]:
            vote.leaves_open = False

    def _withdraw(self, digest: str) -> None:
        for vote in self.votes:
            if vote.digest == digest and not vote.is_withdrawn:
                vote.is_withdrawn = True
                return


def differing(told: RunTold, entry: RunEntry, *, but: tuple[str, ...] = ()) -> str:
    """Return which member of a run's line is another than its leaves tell; "" where all are as told."""
    for name, value in told.line.items():
        said = getattr(entry, name)
        if name in but or said == value:
            continue
        if name == "state" and value in _IN_SEALING and said in _IN_SEALING:
            continue
        if name == "why" and entry.finished_at is not None:
            continue
        return name
    return "finished_at" if entry.finished_at and "finished_at" not in told.line else ""


def _said(vote: VoteTold) -> dict[str, str]:
    said = (vote.kind, vote.verdict, vote.ticket)
    return {
        "decision": decision_of(*said, is_withdrawn=vote.is_withdrawn, leaves_open=vote.leaves_open),
        "meaning": meaning_of(*said, is_withdrawn=vote.is_withdrawn, leaves_open=vote.leaves_open),
    }


def _queued(leaf: Leaf) -> dict[str, Any]:
    data = leaf.data
    return {
        "run_id": leaf.run_id,
        "reference": data.get("trigger_ref"),
        "trigger_type": data.get("trigger_type"),
        "definition": data.get("definition_name"),
        "definition_version": data.get("definition_version"),
        "definition_digest": data.get("definition_digest"),
        "requested_by": leaf.actor.id,
        "created_at": leaf.at,
        "state": "open",
    }
