"""Bundles, as auditors look through them and are given them: runs with their evidence, votes, refused attempts.

Who was given a bundle or an export stands in the tenant's own chain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.acts import REFUSED_ACTS, Refused
from receipts.tenant_acts import BundleFetched, EvidenceExported, chain_of
from runtime.model.approval import AskKind
from runtime.model.requirement import Requirement
from runtime.model.search import EvidenceState, FoundRun, RunFilter, Sought
from runtime.model.votes import Via, VoteVerdict
from runtime.services.approval_rows import shown_fields
from runtime.services.approval_view import FieldView
from runtime.services.people import person_of
from runtime.store import bundle_search
from runtime.store.bundle_search import find_runs
from runtime.store.bundles import OpenBundle, StoredBundle, find_stored
from runtime.store.database.pool import Conn
from runtime.store.refusals import refusals_between
from runtime.store.run_history import one_view, read_chains
from runtime.store.tenants import put_act

__all__ = [
    "EvidenceExported",
    "EvidenceState",
    "FoundRun",
    "OpenBundle",
    "Sought",
    "StoredBundle",
    "find_runs",
    "one_view",
    "read_chains",
]


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
    ticket: str  # by which it did without the others, where it used break-glass; else ""
    leaves_open: bool  # a no that ended nothing, since policy gave the veto to others


async def find_votes(conn: Conn, tenant: str, narrowed: RunFilter, person: str | None = None) -> list[CountedVote]:
    """Return the votes of the filter's moments and runs, the oldest first; those of a person, by id or name."""
    return [_vote(row) for row in await bundle_search.find_votes(conn, tenant, narrowed, person)]


_SAME = (
    *("at", "person", "reason", "target", "purpose", "requested_by", "reference", "run_id", "definition"),
    *("definition_version", "step", "approval_id", "sha256"),
)


def _vote(row: Mapping[str, Any]) -> CountedVote:
    kind, said, requirement = AskKind(row["kind"]), VoteVerdict(row["verdict"]), Requirement.of(row["requirement"])
    return CountedVote(
        **{name: row[name] for name in _SAME},
        name=row["person_name"] + (f" for {row['delegation']['delegator_name']}" if row["delegation"] else ""),
        account=_account(row),
        verdict=said,
        kind=kind,
        verb=row["verb"] or f"{row['connector']}::{row['operation']}",
        fields=shown_fields(row, kind),
        rules=tuple((reason["code"], reason["msg"]) for reason in row["reasons"]),
        requirement=requirement,
        leaves_open=said.is_no and not requirement.is_ended_by(row["groups"]),
        is_withdrawn=row["withdrawn_at"] is not None,
        ticket=row["break_glass"]["ticket"] if row["break_glass"] else "",
    )


def _account(row: Mapping[str, Any]) -> str:
    if row["via"] == Via.SLACK:
        return f"{row['team']} {row['account']}"
    if row["console"]:
        return f"{row['console']['subject']} of {row['console']['issuer']}"
    return f"none: by {row['brought_by'] or row['via']}"


@dataclass(frozen=True)
class RefusedAttempt:
    """A refused attempt: when it was recorded (RFC 3339), by whom it was made, and the leaf that records it."""

    at: str
    actor: str
    act: Refused
    chain: str
    seq: int


async def find_refusals(conn: Conn, tenant: str, since: datetime, until: datetime) -> list[RefusedAttempt]:
    """Return what was refused outside runs and recorded from one moment until before another, oldest first."""
    found = []
    for row in await refusals_between(conn, tenant, since, until):
        leaf = row["leaf"]
        act = REFUSED_ACTS[leaf["event"]].model_validate(leaf["data"])
        found.append(RefusedAttempt(leaf["at"], leaf["actor"]["id"], act, chain_of(tenant), row["seq"]))
    return found


async def find_bundle(conn: Conn, tenant: str, run_id: str) -> StoredBundle | None:
    """Return the stored bundle of a run of the tenant, or None."""
    return await find_stored(conn, tenant, run_id)


async def put_fetched(conn: Conn, tenant: str, by: str, bundle: StoredBundle, at: datetime) -> None:
    """Put on record that a person of the directory was given the bundle; raise UnknownPersonError."""
    async with conn.transaction():
        actor = await person_of(conn, tenant, by)
        await put_act(conn, tenant, BundleFetched(run_id=bundle.run_id, sha256=bundle.sha256), actor, at)


async def record_export(conn: Conn, tenant: str, act: EvidenceExported, by: str, now: datetime) -> None:
    """Put an export on record as the act of a person of the directory; raise UnknownPersonError."""
    async with conn.transaction():
        await put_act(conn, tenant, act, await person_of(conn, tenant, by), now)
