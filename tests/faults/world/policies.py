"""Versions of a world's policy: they say the same, but for how long an approval lasts, which tells answers apart.

Their author proposes them and wishes for them past every proxy; who signs is up to the people of the world.
"""

import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Any

from policy.bundle import CONFIG_FILE, Bundle, policy_text, read_policy
from policy.contract import PolicyText
from policy.explain import parsed_rules
from policy.keys import PolicyKey, load_or_create
from policy.signing import sign_bundle
from policy.versions import rules_json
from runtime.clock import utc_now
from runtime.services import policy_versions
from runtime.services.operator import OperatorService
from runtime.services.policy_versions import INSTALLATION, NewPolicyVersion
from runtime.store.database.pool import Pool, make_pool
from runtime.store.tenants import bind_tenant
from tests.faults.world.history import History
from tests.faults.world.servers import TENANT, policies
from tests.logins import as_program
from tests.opa_server import opa_program

AUTHOR = "petra"
QUIET = "quiet"
"""A tenant in which nothing happens: what changes the policy is on its record, too."""


class PolicyLife(StrEnum):
    """How a world's OPA comes by its policy."""

    DEVELOPMENT = "development"  # no version is in force
    FOLLOWED = "followed"  # it serves the version in force
    STUCK = "stuck"  # it serves the first version for ever


@dataclass
class PolicyVersions:
    """The versions of one world, whose first text OPA begins with."""

    pool: Pool
    key: PolicyKey
    first: PolicyText
    rules: str
    history: History
    numbers: Iterator[int] = field(default_factory=lambda: count(2))

    @property
    def bundle(self) -> Bundle:
        """Return the first version's signed bundle."""
        return sign_bundle(self.first, self.key)

    async def install(self) -> None:
        """Bring the first version into force, for all tenants."""
        async with self.pool.connection() as conn:
            await bind_tenant(conn, QUIET, mocked=False)
            await policy_versions.install(conn, self._made(self.first, INSTALLATION), utc_now())

    async def propose(self) -> int:
        """Propose another version; return its number. Raise what the database does where it is away."""
        text = self._text(next(self.numbers))
        async with self.pool.connection() as conn:
            return await policy_versions.propose(conn, self._made(text, AUTHOR), utc_now())

    async def activate(self, version: int) -> None:
        """Wish for a version to come into force; raise what the database does where it is away."""
        self._note(await self._wishing().activate_policy(AUTHOR, version, "it is time"))

    async def rollback(self) -> None:
        """Wish for the previous version; raise what the database does where it is away."""
        self._note(await self._wishing().rollback_policy(AUTHOR, "it was wrong"))

    def _wishing(self) -> OperatorService:
        self.history.add("wanting")
        return OperatorService(self.pool, utc_now, TENANT)

    def _note(self, notification_id: str) -> None:
        self.history.add("wanted", notification_id=notification_id)

    def _made(self, text: PolicyText, author: str) -> NewPolicyVersion:
        comment = "lasts otherwise"
        data = sign_bundle(text, self.key, {"author": author, "comment": comment}).data
        return NewPolicyVersion(text, data, self.rules, TENANT, author, comment, None)

    def _text(self, number: int) -> PolicyText:
        modules = {name: text for name, text in self.first.files.items() if name != CONFIG_FILE}
        config: dict[str, Any] = json.loads(self.first.files[CONFIG_FILE])
        for requirement in config[TENANT]["requirements"].values():
            requirement["expires_in"] = f"PT{480 + number}M"
        return policy_text(modules, config)


@asynccontextmanager
async def versions_of(dsn: str, folder: Path, histories: Path) -> AsyncIterator[PolicyVersions]:
    """Give the versions of a world's policy; none is in its database yet."""
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # that the database is away is meant
    first = read_policy(policies(folder / "policy"))
    rules = rules_json(await parsed_rules(opa_program(), first.files))
    key = load_or_create(folder / "keys" / "policy.pem")
    async with make_pool(as_program(dsn), size=2, behind_pooler=False) as pool:
        yield PolicyVersions(pool, key, first, rules, History(histories / "policy.jsonl"))
