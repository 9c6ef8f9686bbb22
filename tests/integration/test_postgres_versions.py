"""The versions of PostgreSQL that doctor takes: migrations, roles and a whole run on the oldest ones."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from countersign.doctor.database import OLDEST_POSTGRES
from countersign.doctor.database import database as check_database
from countersign.doctor.database import migrations as check_migrations
from countersign.embedded.opa import OpaChild
from countersign.settings import Settings
from evidence.archive.local import LocalArchive
from policy.client import OpaEngine
from runtime.clock import utc_now
from runtime.store.database.migration import migrate
from tests.bench import open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.postgres_versions import servers
from tests.logins import make_logins
from tests.patience import MINUTE
from tests.sealing import sealer_of

SERVERS = servers()


@pytest.mark.parametrize("version", sorted(SERVERS))
async def test_a_run_with_approvals_is_done_and_sealed(
    version: int, opa: OpaChild, targets: Targets, tmp_path: Path
) -> None:
    with TemporaryDirectory(prefix="postgres-") as name:
        os.chmod(name, 0o755)  # noqa: PTH101, S103 - the server is another user's where we are root
        with SERVERS[version](Path(name) / "data") as dsn:
            migrate(dsn)  # which names what differs from the declared schema
            assert [fact.detail for fact in await check_migrations(Settings(database_url=dsn)) if not fact.ok] == []
            make_logins(dsn)
            facts = {fact.name: fact for fact in await check_database(Settings(database_url=dsn), utc_now)}
            assert facts["database"].ok
            assert facts["database"].detail.startswith(f"PostgreSQL {version}.")
            async with (
                OpaEngine(opa.url, timeout=MINUTE) as policy,
                open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
            ):
                run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
                await bench.settle()
                for person in ("ann", "ben"):
                    assert (await bench.click(person, await bench.approval_id())).counted
                await bench.settle()
                assert (await bench.run(run_id))["status"] == "succeeded"
                key = tmp_path / "key.pem"
                assert await sealer_of(bench.engine, LocalArchive(tmp_path), key)() == 1


def test_no_version_is_older_than_the_doctor_takes() -> None:
    assert min(SERVERS) >= OLDEST_POSTGRES
