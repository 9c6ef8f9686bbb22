"""What the console's pages show, of one tenant: what needs attention, runs, figures, versions, people and bundles."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.engine import Engine
from runtime.model.metrics import Metrics
from runtime.model.search import FoundRun, Sought
from runtime.services import definition_views, policy_views
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService
from runtime.services.attention import Attention, find_attention
from runtime.services.bundles import StoredBundle, find_bundle, find_runs, put_fetched
from runtime.services.metrics import find_metrics
from runtime.services.people import find_people
from runtime.services.run_in_full import find_run

REQUESTS = 50
"""Requests of a run that its page shows."""
VERSIONS = 200
"""Versions of the policy, and of runbooks, that a page lists."""


@dataclass(frozen=True)
class RunPage:
    """A run in full, what is known of its evidence, and its requests, the oldest first; `more` are not shown."""

    run: dict[str, Any]
    evidence: FoundRun
    requests: Sequence[ApprovalView]
    more: int


@dataclass(frozen=True)
class RulesPage:
    """Versions of the policy, and of runbooks by name; at most VERSIONS of each."""

    policies: Sequence[dict[str, Any]]
    runbooks: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class ConsolePages:
    """Reads for the console. Who was given a bundle is put on record, and nothing else is written."""

    engine: Engine
    tenant: str

    async def attention(self) -> Attention:
        """Return what needs attention now."""
        async with self.engine.pool.connection() as conn:
            return await find_attention(conn, self.tenant)

    async def runs(self, sought: Sought) -> list[FoundRun]:
        """Return the runs that are sought, the newest first."""
        async with self.engine.pool.connection() as conn:
            return await find_runs(conn, self.tenant, sought)

    async def run(self, run_id: str) -> RunPage | None:
        """Return a run, or None."""
        async with self.engine.pool.connection() as conn:
            run = await find_run(conn, self.tenant, run_id)
            found = await find_runs(conn, self.tenant, Sought(run_id=run_id, limit=1)) if run else []
        if run is None or not found:
            return None
        asked = [one["approval_id"] for one in reversed(run["waits"]) if one["approval_id"]]
        desk = ApprovalService(self.engine, self.tenant)
        views = [await desk.approval(approval_id) for approval_id in asked[:REQUESTS]]
        return RunPage(run, found[0], [view for view in views if view], max(0, len(asked) - REQUESTS))

    async def figures(self, since: datetime, until: datetime) -> Metrics:
        """Return how long people took with what they were asked from one moment until before another."""
        async with self.engine.pool.connection() as conn:
            return await find_metrics(conn, self.tenant, since, until, self.engine.clock())

    async def rules(self) -> RulesPage:
        """Return the versions of the policy and of runbooks, the newest first."""
        async with self.engine.pool.connection() as conn:
            policies = await policy_views.list_versions(conn, self.tenant, None, None, None, None, VERSIONS)
            sought = definition_views.Sought(limit=VERSIONS)
            return RulesPage(policies, await definition_views.list_versions(conn, self.tenant, sought))

    async def people(self) -> list[dict[str, Any]]:
        """Return the directory's people with their groups, Slack accounts and delegations, by their ids."""
        async with self.engine.pool.connection() as conn:
            return await find_people(conn, self.tenant, None, None)

    async def bundle(self, run_id: str) -> StoredBundle | None:
        """Return the stored bundle of a run, or None."""
        async with self.engine.pool.connection() as conn:
            return await find_bundle(conn, self.tenant, run_id)

    async def note_fetched(self, by: str, bundle: StoredBundle) -> None:
        """Put on record that somebody was given a bundle; raise UnknownPersonError."""
        async with self.engine.pool.connection() as conn:
            await put_fetched(conn, self.tenant, by, bundle, self.engine.clock())
