"""Sealing in sets: what is ready is sealed together, byte by byte as it would be alone, and one harms no other."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from evidence import sealer
from evidence.archive import Stored
from evidence.build import build, file_of
from evidence.local import LocalArchive
from evidence.statement import sha256
from evidence.verify.verify import verify
from receipts.signing import public_path
from runtime.services.sealing import SealingService
from runtime.store import bundles
from tests.bench import Bench
from tests.integration.evidence_stage import FILE, SealingOffice, noted, open_office
from tests.patience import MINUTE, until


@pytest.fixture
def office(bench: Bench, tmp_path: Path, dsn: str) -> SealingOffice:
    return open_office(bench, tmp_path, dsn)


async def ended(bench: Bench, count: int) -> list[str]:
    """Have runs come to their end, the first with a request that two people signed."""
    runs = [(await bench.start("bench.file", FILE)).run_id]
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    return [*runs, *[await noted(bench, f"n{number}") for number in range(1, count)]]


async def leases(office: SealingOffice) -> list[str]:
    desk = SealingService(office.bench.engine)
    taken = await desk.next_bundles(timedelta(0), office.key, [office.key.public.key_id])
    return sorted(lease.run_id for lease in taken)


async def test_runs_that_are_ready_are_sealed_together_under_one_checkpoint(
    office: SealingOffice, tmp_path: Path
) -> None:
    runs = await ended(office.bench, 6)
    assert await office.sealer() == 6
    assert await office.sealer() == 0
    (signed,) = await office.bench.rows("SELECT count(*) AS signed FROM log_checkpoints")
    assert signed["signed"] == 1
    rows = [await office.row(run_id) for run_id in runs]
    assert len({row["log_size"] for row in rows}) == 1
    for run_id, row in zip(runs, rows, strict=True):
        report = verify(Path(row["location"]), public_path(tmp_path / "keys/evidence.pem"))
        assert (report.run_id, report.sha256) == (run_id, row["sha256"])


async def test_a_bundle_has_the_same_bytes_whether_it_is_sealed_with_others_or_alone(office: SealingOffice) -> None:
    runs = await ended(office.bench, 4)
    assert await office.sealer() == 4
    for run_id in runs:
        alone = build(await office.sealer.dossier(run_id), office.key)
        assert alone.data == Path((await office.row(run_id))["location"]).read_bytes()


async def test_a_run_whose_bundle_cannot_be_built_harms_no_other_of_its_set(office: SealingOffice) -> None:
    bench = office.bench
    runs = await ended(bench, 4)
    assert await leases(office) == sorted(runs)
    await bench.meddle("UPDATE receipts SET receipt_id = receipt_id || '/..', document = "
                       "jsonb_set(document::jsonb, '{receipt_id}', '\"../x\"') WHERE run_id = %s", runs[2])  # fmt: skip
    assert await office.sealer() == 3
    assert "is not an identifier" in (await office.row(runs[2]))["error"]
    assert [bool((await office.row(run_id))["stored_at"]) for run_id in runs] == [True, True, False, True]


async def test_a_failure_that_cannot_be_kept_ends_after_the_others_of_its_set(office: SealingOffice) -> None:
    bench = office.bench
    runs = await ended(bench, 4)
    office.sealer.archive.put(file_of(runs[1]), b"x", sha256(b"x"))
    await bench.meddle("ALTER TABLE evidence_bundles ADD CONSTRAINT unsaid CHECK (error = '')")
    with pytest.raises(Exception, match="unsaid"):
        await office.sealer()
    assert [bool((await office.row(run_id))["stored_at"]) for run_id in runs] == [True, False, True, True]


async def test_a_name_that_is_taken_in_the_archive_harms_no_other_of_the_set(office: SealingOffice) -> None:
    runs = await ended(office.bench, 4)
    other = b"something else"
    office.sealer.archive.put(file_of(runs[1]), other, sha256(other))
    assert await office.sealer() == 3
    assert [bool((await office.row(run_id))["stored_at"]) for run_id in runs] == [True, False, True, True]
    assert "already holds something else" in (await office.row(runs[1]))["error"]


async def test_leaves_that_miss_in_the_log_hold_up_their_own_run_alone(office: SealingOffice) -> None:
    bench = office.bench
    runs = await ended(bench, 3)
    assert await leases(office) == sorted(runs)
    await office.sealer.notary.desk.sequence()
    await bench.meddle("DELETE FROM log_entries WHERE chain = %s", runs[1])
    assert await office.sealer() == 2
    assert "have their places in the log yet" in (await office.row(runs[1]))["error"]


async def test_a_set_has_a_bound_of_leaves_and_a_run_that_has_more_is_sealed_by_itself(
    office: SealingOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ended(office.bench, 4)
    (small,) = await office.bench.rows("SELECT max(audit_seq) + 1 AS most FROM runs WHERE trigger_type = 'bench.note'")
    monkeypatch.setattr(bundles, "MOST_LEAVES", 2 * small["most"])
    sealed = []
    while count := await office.sealer():
        sealed.append(count)
    assert sorted(sealed) == [1, 1, 2]


async def test_a_set_has_a_bound_of_runs(office: SealingOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    await ended(office.bench, 5)
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 2)
    assert [await office.sealer() for _ in range(4)] == [2, 2, 1, 0]


async def test_a_bundle_that_somebody_writes_rows_about_is_leased_all_the_same(office: SealingOffice) -> None:
    runs = await ended(office.bench, 2)
    assert await leases(office) == sorted(runs)
    async with await psycopg.AsyncConnection.connect(office.bench.superuser) as writing:
        await writing.execute("SELECT FROM evidence_bundles FOR KEY SHARE")
        assert await leases(office) == sorted(runs)


async def test_an_archive_that_hangs_leaves_the_threads_of_all_else_alone(office: SealingOffice) -> None:
    """Names are looked up in these threads, too: whatever acts in the world would stand still with the archive."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    await ended(office.bench, 6)
    let_go, hangs = threading.Event(), threading.Event()

    class Hanging(LocalArchive):
        def put(self, name: str, data: bytes, sha256: str, retain_days: int | None = None) -> Stored:
            hangs.set()
            let_go.wait(MINUTE)
            return super().put(name, data, sha256, retain_days)

    sealing = asyncio.create_task(replace(office.sealer, archive=Hanging(office.folder))())
    try:
        await until(hangs.is_set)
        async with asyncio.timeout(MINUTE / 2):
            assert await asyncio.gather(*(asyncio.to_thread(len, "abc") for _ in range(3))) == [3, 3, 3]
        assert not sealing.done()
    finally:
        let_go.set()
    assert await sealing == 6


async def test_what_is_stored_together_is_recorded_in_one_transaction(
    office: SealingOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealer, "TOGETHER", MINUTE)
    await ended(office.bench, 6)
    assert await office.sealer() == 6
    query = "SELECT tx FROM audit_leaves WHERE leaf ->> 'event' = 'evidence.sealed'"
    recorded = [row["tx"] for row in await office.bench.rows(query)]
    assert (len(recorded), len(set(recorded))) == (6, 1)


async def test_a_bundle_that_takes_long_to_be_stored_holds_up_no_record_of_others(office: SealingOffice) -> None:
    (slow, *others), let_go = await ended(office.bench, 4), threading.Event()

    class Slow(LocalArchive):
        def put(self, name: str, data: bytes, sha256: str, retain_days: int | None = None) -> Stored:
            if name == file_of(slow):
                let_go.wait(MINUTE)
            return super().put(name, data, sha256, retain_days)

    async def stored() -> set[str]:
        rows = await office.bench.rows("SELECT run_id FROM evidence_bundles WHERE status = 'stored'")
        return {row["run_id"] for row in rows}

    sealing = asyncio.create_task(replace(office.sealer, archive=Slow(office.folder))())
    try:
        async with asyncio.timeout(MINUTE):
            while await stored() < set(others):
                await asyncio.sleep(0.01)
        assert await stored() == set(others)
    finally:
        let_go.set()
    assert await sealing == 4
    assert await stored() == {slow, *others}
