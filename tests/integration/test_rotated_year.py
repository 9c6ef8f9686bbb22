"""A year of sealing, whose key is rotated every month in the middle of it: every bundle verifies to its end."""

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from countersign.cli import operate
from evidence.key_ring import KeyRing
from evidence.verify.trust import Trust, trust_of
from evidence.verify.verify import verify
from receipts.register import write_register
from receipts.signing import public_path
from runtime.services import keys
from runtime.services.sealing import EvidenceDesk
from tests.bench import TENANT, Bench
from tests.integration.sealing_stage import NOTE, Office, open_office

MONTHS, RUNS = 12, 9


@pytest.fixture
def office(bench: Bench, tmp_path: Path, dsn: str) -> Office:
    return open_office(bench, tmp_path, dsn)


async def worked(office: Office, month: int) -> None:
    """Have a month's runs end."""
    for number in range(RUNS):
        name = f"{month}-{number}"
        await office.bench.start("bench.note", {**NOTE, "incident": name}, ref=name)
    await office.bench.settle()


async def sealed(office: Office, most: int) -> int:
    """Seal up to so many bundles; return how many were stored."""
    sealer, done = office.sealer, 0
    while done < most and await sealer():
        done += 1
    return done


async def begun(office: Office) -> None:
    """Begin to seal what has ended, and be lost before anything is stored."""
    ring = KeyRing(office.settings.key_path).keys()
    desk = EvidenceDesk(office.bench.engine)
    while await office.bench.rows("SELECT 1 FROM runs WHERE finished_at IS NOT NULL AND NOT sealed"):
        await desk.next_bundle(timedelta(0), ring.current, ring.ids)


async def rotated(office: Office) -> None:
    """Rotate the key, at the time of the bench."""
    key, bench = KeyRing(office.settings.key_path).rotate(), office.bench
    async with bench.engine.pool.connection() as conn:
        await keys.register_key(conn, TENANT, key, bench.clock())


async def trusted(office: Office, folder: Path) -> Trust:
    """Return what an auditor has at the end of the year: the newest key, and the register."""
    register, needed = await operate.register_of_keys(office.settings)
    assert (len(register), needed) == (MONTHS + 1, {})
    (folder / "keys.json").write_bytes(write_register(register))
    return trust_of(public_path(office.settings.key_path), folder / "keys.json")


async def test_every_bundle_of_a_year_in_which_the_key_was_rotated_in_the_middle_of_sealing_verifies(
    office: Office, tmp_path: Path
) -> None:
    for month in range(MONTHS):
        await worked(office, month)
        await begun(office)
        assert await sealed(office, RUNS // 2) == RUNS // 2
        await rotated(office)
        office.bench.clock.move(days=30)
    await sealed(office, MONTHS * RUNS)
    rows = await office.bench.rows("SELECT run_id, key_id, location, status FROM evidence_bundles")
    assert Counter(row["status"] for row in rows) == {"stored": MONTHS * RUNS}
    assert sorted(Counter(row["key_id"] for row in rows).values()) == [RUNS] * MONTHS
    trust = await trusted(office, tmp_path)
    for row in rows:
        report = await asyncio.to_thread(verify, Path(row["location"]), trust)
        assert report.run_id == row["run_id"]
