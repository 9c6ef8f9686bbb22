"""What the console's pages show, of one tenant: what needs attention, runs, figures, versions, people and bundles."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.engine import Engine
from runtime.model.metrics import Metrics, WeeklyMetrics
from runtime.model.search import FoundRun, Sought
from runtime.services import definition_views, policy_views
from runtime.services.approval_view import ApprovalView
from runtime.services.approvals import ApprovalService
from runtime.services.attention import Attention, find_attention
from runtime.services.bundles import StoredBundle, find_bundle, find_runs, put_fetched
from runtime.services.metrics import find_metrics, find_weeks
from runtime.services.people import find_people
from runtime.services.run_details import RunDetails, ShownCard, TrailLeaf, find_cards, find_details, find_trail
from runtime.services.run_in_full import find_run
from runtime.store.database.pool import Conn

REQUESTS = 50
"""Requests of a run that its page shows."""
STEPS = 100
"""Steps of a run that its page lists, and runs that it started."""
LEAVES = 100
"""Records of a run's chain on one page."""
VERSIONS = 200
"""Versions of the policy, and of runbooks, that a page lists."""


@dataclass(frozen=True)
class RunPage:
    """A run in full, what is known of its evidence, and its requests, the oldest first; `more` are not shown.

    `trail` is the beginning of its chain, of which `evidence` counts the leaves.
    """

    run: dict[str, Any]
    evidence: FoundRun
    requests: Sequence[ApprovalView]
    more: int
    details: RunDetails
    trail: Sequence[TrailLeaf]


@dataclass(frozen=True)
class TrailPage:
    """A part of a run's chain, behind the record `after`."""

    evidence: FoundRun
    leaves: Sequence[TrailLeaf]
    after: int


@dataclass(frozen=True)
class CardsPage:
    """The cards of a request as they were shown, the newest of them, with the request; `total` counts all."""

    evidence: FoundRun
    request: ApprovalView
    cards: Sequence[ShownCard]
    total: int


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
            run = await find_run(conn, self.tenant, run_id, STEPS)
            found = await self._found(conn, run_id)
            if run is None or found is None:
                return None
            details = await find_details(self.engine, conn, self.tenant, run)
            trail = await find_trail(conn, run_id, 0, LEAVES)
        asked = [one["approval_id"] for one in reversed(run["waits"]) if one["approval_id"]]
        desk = ApprovalService(self.engine, self.tenant)
        views = [await desk.approval(approval_id) for approval_id in asked[:REQUESTS]]
        more = max(0, len(asked) - REQUESTS)
        return RunPage(run, found, [view for view in views if view], more, details, trail)

    async def trail(self, run_id: str, after: int) -> TrailPage | None:
        """Return a part of a run's chain, or None where there is no such run."""
        async with self.engine.pool.connection() as conn:
            found = await self._found(conn, run_id)
            return TrailPage(found, await find_trail(conn, run_id, after, LEAVES), after) if found else None

    async def cards(self, run_id: str, approval_id: str) -> CardsPage | None:
        """Return the cards of a request as they were shown, or None where the run has no such request."""
        async with self.engine.pool.connection() as conn:
            found = await self._found(conn, run_id)
            shown = await find_cards(conn, self.tenant, run_id, approval_id)
        request = await ApprovalService(self.engine, self.tenant).approval(approval_id)
        return CardsPage(found, request, *shown) if found and shown and request else None

    async def _found(self, conn: Conn, run_id: str) -> FoundRun | None:
        found = await find_runs(conn, self.tenant, Sought(run_id=run_id, limit=1))
        return found[0] if found else None

    async def figures(self, since: datetime, until: datetime) -> Metrics:
        """Return how long people took with what they were asked from one moment until before another."""
        async with self.engine.pool.connection() as conn:
            return await find_metrics(conn, self.tenant, since, until, self.engine.clock())

    async def weeks(self, since: datetime, until: datetime) -> WeeklyMetrics:
        """Return the same by the weeks in which people were asked."""
        async with self.engine.pool.connection() as conn:
            return await find_weeks(conn, self.tenant, since, until)

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
