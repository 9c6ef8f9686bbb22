"""Signed bundles of policy versions, as OPA downloads them."""

from dataclasses import dataclass

from runtime.store import policy_versions as store
from runtime.store.database.pool import Pool


@dataclass(frozen=True)
class BundleInForce:
    """The version in force, and the SHA-256 (hex) of its bundle."""

    version: int
    sha256: str


@dataclass(frozen=True)
class PolicyBundles:
    """Finds and reads the bundle in force; each call asks the database."""

    pool: Pool

    async def in_force(self) -> BundleInForce | None:
        """Return which bundle is in force, without its bytes; None if no version is."""
        async with self.pool.connection() as conn:
            row = await store.bundle_in_force(conn)
        return BundleInForce(**row) if row else None

    async def read(self, version: int) -> bytes:
        """Return the bundle of a version; raise LookupError."""
        async with self.pool.connection() as conn:
            return await store.bundle_of(conn, version)
