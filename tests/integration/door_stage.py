"""Downloads of the policy in force: the edge's door over a database, the version in it, and the bundles of a policy."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from edge.app import Ready, build_edge
from edge.policy_bundle import BundleDownloads
from policy.bundle import PolicyFolders, read_policy
from policy.contract import PolicyText
from policy.keys import PolicyKey
from policy.signing import sign_bundle
from receipts.chain import PROGRAM
from runtime.clock import utc_now
from runtime.services import policy_versions
from runtime.services.policy_bundles import PolicyBundles
from runtime.services.policy_versions import INSTALLATION, NewPolicyVersion
from runtime.store.database.pool import Pool
from runtime.store.policy_versions import Activation, activate_version, add_version, lock_policy_versions
from tests.bench import TENANT
from tests.integration.running import heard
from tests.opa_server import PACKS, copy_policies, edit_policy

TOKEN = "door-token-" * 4
CONFIG = "countersign_config/acme/data.json"


def next_policy(folder: Path, quorum: int = 3) -> PolicyFolders:
    """Return a policy in a new folder that is the shipped one but for how many sign."""
    edit_policy(copy_policies(folder), CONFIG, '"quorum": 2', f'"quorum": {quorum}')
    return PolicyFolders(folder, PACKS)


def version_of(text: PolicyText, key: PolicyKey, author: str = "rita") -> NewPolicyVersion:
    """Return a version with a signed bundle; its rules are not listed."""
    return NewPolicyVersion(text, sign_bundle(text, key).data, "[]", TENANT, author, "a change", None)


async def install(pool: Pool, folders: PolicyFolders, key: PolicyKey) -> bytes:
    """Bring the first version into force; return its bundle."""
    new = version_of(read_policy(folders), key, INSTALLATION)
    async with pool.connection() as conn:
        await policy_versions.install(conn, new, utc_now())
    return new.bundle


async def activate(pool: Pool, folders: PolicyFolders, key: PolicyKey) -> bytes:
    """Bring another version into force, as an effect does once people have signed it; return its bundle."""
    new = version_of(read_policy(folders), key)
    async with pool.connection() as conn, conn.transaction():
        await lock_policy_versions(conn)
        version = await add_version(conn, new, PROGRAM, utc_now())
        await activate_version(conn, Activation(version, PROGRAM, "run_of_a_test" if version > 1 else None), utc_now())
    return new.bundle


@asynccontextmanager
async def door(bundles: PolicyBundles) -> AsyncIterator[str]:
    """Serve the bundle in force on a free port; give the address."""
    app = build_edge(cast("Ready", None), api=None, slack=None, bundles=BundleDownloads(bundles, TOKEN))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with heard(app, listener):
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
