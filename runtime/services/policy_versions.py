"""How versions of the policy are proposed, and come into force: as an effect that has passed the gate like any other.

All tenants of a database share its policy. The first version comes with the installation; until then the database is
for development. Rules are signed in the tenant that installed the first version, configuration in its own.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from psycopg.errors import DeadlockDetected, LockNotAvailable
from pydantic import BaseModel, ConfigDict

from policy.errors import PolicyError
from policy.keys import VerificationKey
from policy.verifying import verify_bundle
from policy.versions import PolicyChanges, ReadPolicy
from receipts.chain import PROGRAM
from runtime.clock import Clock
from runtime.failpoints import Point, at
from runtime.handlers import Call, Done, Handler, JsonObject, NotTakenError, Reconciled, RefusedError, Untouched
from runtime.services.people import person_of
from runtime.store import policy_versions as store
from runtime.store.database.pool import Conn, Pool
from runtime.store.definitions import requester_of
from runtime.store.policy_versions import Activation, InForce, NewPolicyVersion, find_version, read_version

__all__ = ["InForce", "NewPolicyVersion", "find_version"]

ROLLBACK = "rollback"
"""The operation that brings back the previous version, and no other."""
INSTALLATION = "installation"
"""The author of the first version."""


class VersionRefusedError(PolicyError):
    """A version cannot be proposed as it is; the message says why."""


async def install(conn: Conn, new: NewPolicyVersion, now: datetime) -> InForce:
    """Bring the first version into force, if there is none yet; return the version in force."""
    async with conn.transaction():
        await store.lock_policy_versions(conn)
        there = await store.in_force(conn)
        if there is not None:
            return there
        version = await store.add_version(conn, new, PROGRAM, now)
        await store.activate_version(conn, Activation(version, PROGRAM, None), now)
    return InForce(version, new.text.digest, None)


async def propose(conn: Conn, new: NewPolicyVersion, now: datetime) -> int:
    """Add a version, as the act of its author; return its number. Raise VersionRefusedError, UnknownError."""
    author = await person_of(conn, new.tenant, new.author)
    async with conn.transaction():
        await store.lock_policy_versions(conn)
        if await store.in_force(conn) is None:
            raise VersionRefusedError("no version is in force yet: run `countersign policy install` first")
        if (there := await store.version_of(conn, new.text.digest)) is not None:
            raise VersionRefusedError(f"version {there} has this very text: activate that one")
        return await store.add_version(conn, new, author, now)


async def changes_from_in_force(conn: Conn, new: ReadPolicy) -> tuple[PolicyChanges, str]:
    """Return what a policy changes against the version in force, and the tenant that signs it.

    Raise PolicyError if the change concerns several tenants, VersionRefusedError if no version is in force.
    """
    there = await store.in_force(conn)
    if there is None:
        raise VersionRefusedError("no version is in force yet: run `countersign policy install` first")
    changes = PolicyChanges(await read_version(conn, there.version), new)
    return changes, changes.signed_in(await store.tenant_of_rules(conn))


class _Params(BaseModel):
    """What people sign. `replaces` is the version that was in force when they were asked."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: int
    digest: str
    bundle: str
    report: str
    replaces: int
    author: str
    comment: str
    changes: list[dict[str, str]]
    backtest: list[dict[str, str]]
    worst: str
    reason: str


@dataclass(frozen=True)
class PolicyConnector:
    """The operations. `keys` are those whose bundles are taken."""

    pool: Pool
    clock: Clock
    keys: Sequence[VerificationKey]

    async def activate(self, call: Call) -> JsonObject:
        """Bring a version into force, if all is still as it was when people were asked.

        Decisions that are under way are waited for; where that takes too long, it is tried again.
        """
        try:
            await self._activate(call, _Params.model_validate(call.params))
        except (DeadlockDetected, LockNotAvailable) as error:  # PostgreSQL has then rolled everything back
            raise NotTakenError("decisions under way go by the version in force") from error
        return {"version": call.params["version"]}

    async def _activate(self, call: Call, params: _Params) -> None:
        async with self._moving(call) as (conn, there):
            if there is None:
                return
            if call.operation == ROLLBACK and params.version != there.before:
                raise RefusedError(f"the previous version is {there.before}")
            await self._expect_as_signed(conn, call, params)
            by = await requester_of(conn, call.run_id)
            await store.activate_version(conn, Activation(params.version, by, call.run_id), self.clock())
            at(Point.POLICY_ACTIVATING)
        at(Point.POLICY_ACTIVATED)

    async def reconcile(self, call: Call) -> Reconciled:
        """Return whether the run's activation is on record."""
        async with self.pool.connection() as conn:
            is_done = await store.is_activated_by(conn, call.run_id)
        return Done({"version": call.params["version"]}) if is_done else Untouched()

    @asynccontextmanager
    async def _moving(self, call: Call) -> AsyncIterator[tuple[Conn, InForce | None]]:
        """Give the version in force, locked; None if this run has moved it already."""
        async with self.pool.connection() as conn, conn.transaction():
            await store.lock_policy_versions(conn)
            is_done = await store.is_activated_by(conn, call.run_id)
            yield conn, None if is_done else await self._in_force(conn, call)

    async def _in_force(self, conn: Conn, call: Call) -> InForce:
        there = await store.in_force(conn)
        if there is None or there.version != call.params["replaces"]:
            now = there.version if there else "none"
            raise RefusedError(f"policy version {call.params['replaces']} was in force, and now it is {now}; ask again")
        return there

    async def _expect_as_signed(self, conn: Conn, call: Call, params: _Params) -> None:
        """Raise RefusedError unless the version is what people signed, and somebody but its author has."""
        found = await store.find_version(conn, params.version)
        if found is None or (found["digest"], found["author"]) != (params.digest, params.author):
            raise RefusedError(f"there is no policy version {params.version} with the digest {params.digest}")
        if (found["report_digest"] or "") != params.report:
            raise RefusedError("the report of its backtest is not the one that was signed")
        bundle = await store.bundle_of(conn, params.version)
        if hashlib.sha256(bundle).hexdigest() != params.bundle:
            raise RefusedError("its bundle is not the one that was signed")
        try:
            held = verify_bundle(bundle, self.keys)
        except PolicyError as error:
            raise RefusedError(f"its bundle would be refused by OPA: {error}") from error
        if (held.text.digest, held.author, held.comment) != (params.digest, params.author, params.comment):
            raise RefusedError(f"its bundle is of another version: {held.text.digest} by {held.author}")
        if not set(await store.signers_of(conn, call.run_id)) - {params.author}:
            raise RefusedError("nobody but its author has signed; have the policy require signatures")


def policy_handlers(pool: Pool, clock: Clock, keys: Sequence[VerificationKey]) -> dict[str, Handler]:
    """Return the connector's handlers."""
    connector = PolicyConnector(pool, clock, keys)
    return {
        "policy::activate": Handler(connector.activate, reconcile=connector.reconcile),
        f"policy::{ROLLBACK}": Handler(connector.activate, reconcile=connector.reconcile),
    }


async def in_force(conn: Conn) -> InForce | None:
    """Return the version in force, None where the database is for development."""
    return await store.in_force(conn)


async def served_bundle(conn: Conn) -> tuple[InForce, bytes] | None:
    """Return the version in force and its signed bundle, None where the database is for development."""
    there = await store.in_force(conn)
    return None if there is None else (there, await store.bundle_of(conn, there.version))
