"""An office that seals evidence: a bench, an archive that can be put out of use, a key, and what people are told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countersign.doctor.evidence import evidence
from countersign.doctor.unsealed import describe
from countersign.settings import Settings
from evidence.archive.local import LocalArchive
from evidence.sealer import Sealer
from receipts.signing import SigningKey, load_or_create
from runtime.clock import utc_now
from runtime.services.health import open_bundles
from tests.bench import TENANT, Bench
from tests.sealing import sealer_of

FILE = {"company": "ACME", "text": "report"}
NOTE = {"incident": "I1", "text": "a", "api_token": "t"}


@dataclass
class Office:
    """A bench, a folder for evidence that can be put out of use, and the key."""

    bench: Bench
    folder: Path
    key: SigningKey
    settings: Settings

    @property
    def sealer(self) -> Sealer:
        return sealer_of(self.bench.engine, LocalArchive(self.folder), self.settings.key_path)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Have a file where the archive's folder should be."""
        self.folder.write_text("in the way")
        yield
        self.folder.unlink()

    async def row(self, run_id: str) -> dict[str, Any]:
        query = "SELECT *, next_try_at - clock_timestamp() AS pause FROM evidence_bundles WHERE run_id = %s"
        return (await self.bench.rows(query, run_id))[0]

    async def due(self) -> None:
        """Let the pause be over."""
        await self.bench.rows("UPDATE evidence_bundles SET next_try_at = clock_timestamp() RETURNING 1")

    async def is_well(self) -> dict[str, bool]:
        """Return what the doctor says of evidence."""
        return {fact.name: fact.ok for fact in await evidence(self.settings, utc_now)}

    async def listed(self) -> dict[str, str]:
        """Return what is said of each run whose bundle is not stored."""
        async with self.bench.engine.pool.connection() as conn:
            waiting = await open_bundles(conn, TENANT)
        return {bundle.run_id: describe(bundle) for bundle in waiting}


def open_office(bench: Bench, folder: Path, dsn: str) -> Office:
    """Return an office whose home is the folder."""
    settings = Settings(database_url=dsn, home=folder, tenant=TENANT)
    return Office(bench, folder / "evidence", load_or_create(folder / "keys" / "evidence.pem"), settings)


async def noted(bench: Bench, ref: str = "1", trigger: str = "bench.note") -> str:
    """Return a run that has ended."""
    run_id = (await bench.start(trigger, {**NOTE, "incident": f"I{ref}"}, ref=ref)).run_id
    await bench.settle()
    return run_id
