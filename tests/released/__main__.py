"""Keep what the release of this checkout leaves with its users. Run once for each, as `python -m tests.released`.

What is kept never changes: where the folder of the version is there, this says so and writes nothing.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from countersign.embedded.postgres import embedded_postgres
from evidence.local import LocalArchive
from policy.client import OpaEngine
from receipts.signing import load_or_create
from runtime.store.database.migration import migrate
from tests.bench import open_bench
from tests.integration.conftest import PACK, Targets
from tests.logins import make_logins
from tests.opa_server import POLICIES, start_opa
from tests.patience import MINUTE
from tests.released import FILE, FOLDER, Kept, database_tool
from tests.sealing import sealer_of
from tools.schema import project_version


async def keep(kept: Kept) -> None:
    """Play a filing to its end, another to its first vote, and a wait; write the database and the bundle."""
    load_or_create(kept.key)
    with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as dsn:
        work = Path(name)
        migrate(dsn)
        make_logins(dsn)
        async with (
            start_opa(POLICIES, work / "opa") as opa,
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK], Targets.fresh().handlers()) as bench,
        ):
            for person in ("ann", "ben"):
                if person == "ann":
                    await bench.start("bench.file", FILE, ref="ended")
                    await bench.settle()
                assert (await bench.click(person, await bench.approval_id())).counted
            await bench.settle()
            archive = LocalArchive(work / "evidence")
            assert await sealer_of(bench.engine, archive, kept.key)()
            (row,) = await bench.rows("SELECT location FROM evidence_bundles")
            kept.bundle.write_bytes(archive.get(row["location"]))
            await bench.start("bench.file", FILE, ref="signed once")
            await bench.start("bench.wait", {"case": "C1"}, ref="parked")
            await bench.settle()
            assert (await bench.click("ann", await bench.approval_id())).counted
        dump = await asyncio.create_subprocess_exec(
            database_tool("pg_dump"), "--compress", "gzip", "--file", kept.database, dsn
        )
        assert await dump.wait() == 0
    (kept.folder / ".rotating").unlink()  # a lock, which nobody needs any more


def main() -> None:
    """Write the folder of this version, unless it is there."""
    kept = Kept(FOLDER / project_version())
    if kept.folder.exists():
        sys.exit(f"{kept.folder} is there already: what a release has left never changes")
    kept.folder.mkdir()
    asyncio.run(keep(kept))


if __name__ == "__main__":
    main()
