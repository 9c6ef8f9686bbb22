"""What auditors look through, over one connection: runs with their evidence, and every vote of a period."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.approval import AskKind
from runtime.model.finding import EvidenceState, FoundRun, Sought
from runtime.model.requirement import Requirement
from runtime.model.votes import Via, VoteVerdict
from runtime.services.approval_view import FieldView
from runtime.services.fields import shown_fields
from runtime.store import voted
from runtime.store.bundles_found import find_runs
from runtime.store.database.pool import Conn

__all__ = ["CountedVote", "EvidenceState", "FoundRun", "Sought", "find_runs", "find_votes"]


@dataclass(frozen=True)
class CountedVote:
    """A vote, and what it was about: the request, the rule that asked, and what would change."""

    at: datetime
    person: str
    name: str  # as it was when the vote was counted
    account: str  # of Slack: team and user; else how it came in, and who brought it
    verdict: VoteVerdict
    reason: str
    kind: AskKind
    verb: str
    target: str
    fields: tuple[FieldView, ...]
    rules: tuple[tuple[str, str], ...]  # of policy: code and msg; none where the runbook asks
    purpose: str
    requirement: Requirement
    requested_by: str
    reference: str
    run_id: str
    definition: str
    definition_version: int
    step: str
    approval_id: str
    sha256: str | None  # of the run's bundle, once it is stored
    is_withdrawn: bool  # its person took it back, and it counts no more
    ticket: str  # by which it did without the others, where it broke the glass; else ""


async def find_votes(
    conn: Conn, tenant: str, since: datetime, until: datetime, person: str | None
) -> list[CountedVote]:
    """Return the votes from one moment until before another, the oldest first; those of a person, by id or name."""
    return [_vote(row) for row in await voted.find_votes(conn, tenant, since, until, person)]


_SAME = (
    *("at", "person", "reason", "target", "purpose", "requested_by", "reference", "run_id", "definition"),
    *("definition_version", "step", "approval_id", "sha256"),
)


def _vote(row: Mapping[str, Any]) -> CountedVote:
    kind = AskKind(row["kind"])
    return CountedVote(
        **{name: row[name] for name in _SAME},
        name=row["person_name"] + (f" for {row['delegation']['delegator_name']}" if row["delegation"] else ""),
        account=_account(row),
        verdict=VoteVerdict(row["verdict"]),
        kind=kind,
        verb=row["verb"] or f"{row['connector']}::{row['operation']}",
        fields=shown_fields(row, kind),
        rules=tuple((reason["code"], reason["msg"]) for reason in row["reasons"]),
        requirement=Requirement.of(row["requirement"]),
        is_withdrawn=row["withdrawn_at"] is not None,
        ticket=row["break_glass"]["ticket"] if row["break_glass"] else "",
    )


def _account(row: Mapping[str, Any]) -> str:
    if row["via"] == Via.SLACK:
        return f"{row['team']} {row['account']}"
    return f"none: by {row['brought_by'] or row['via']}"
