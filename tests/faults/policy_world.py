"""A small world whose policy has versions, with histories of those who wish for them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policy.keys import load_or_create
from runtime.inbox import inbox
from tests.faults.small_world import SmallWorld, small_world
from tests.integration.acts_stage import operators
from tests.integration.versions_stage import SIGNERS, PolicyLife, with_versions
from tests.opa_server import copy_policies, start_opa


@dataclass
class PolicyWorld:
    """A small world, and the life of its policy."""

    small: SmallWorld
    life: PolicyLife

    async def activate(self, version: int) -> str:
        """Wish for a version, as an operator; return the run that asks people."""
        self.small.add("people", "wanting")
        return await self._applied(await operators(self.small.bench).activate_policy("omar", version, "it is time"))

    async def rollback(self) -> str:
        """Wish for the previous version; return the run."""
        self.small.add("people", "wanting")
        return await self._applied(await operators(self.small.bench).rollback_policy("omar", "it was wrong"))

    async def _applied(self, notification_id: str) -> str:
        self.small.add("people", "wanted", notification_id=notification_id)
        facts: dict[str, Any] = dict(await inbox.apply(self.small.bench.engine, notification_id))
        await self.small.bench.settle()
        return str(facts["run_id"])

    async def sign(self) -> None:
        """Have those sign whom a change of the policy needs."""
        await self.small.sign(*SIGNERS)
        await self.small.bench.settle()


@asynccontextmanager
async def policy_world(dsn: str, folder: Path) -> AsyncIterator[PolicyWorld]:
    """Open such a world over a database, in which no version is in force yet."""
    rego = copy_policies(folder / "rego")
    key = load_or_create(folder / "author/policy.pem")
    async with start_opa(rego, folder / "opa") as opa, small_world(dsn, opa, folder) as small:
        small.bench = with_versions(small.bench, key)
        yield PolicyWorld(small, PolicyLife(small.bench, rego, key, opa))
