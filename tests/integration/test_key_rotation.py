"""Key rotation: while evidence is sealed, and through a year.

Keys are rotated while evidence is sealed: each bundle has the key with which its sealing began.

A year of sealing, whose key is rotated every month in the middle of it: every bundle verifies to its end.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign import foreseen_errors
from countersign.cli import operate
from countersign.connection import looked_up
from countersign.settings import Settings
from evidence.key_ring import KeyRing
from evidence.local import LocalArchive
from evidence.sealer import Sealer
from evidence.verify.trust import Trust, trust_of
from evidence.verify.verify import verify
from receipts.register import RegisterError, write_register
from receipts.signing import KeyFileError, load_or_create, load_public, public_path
from runtime.services import keys
from runtime.services.sealing import BundleLease, SealingService
from runtime.store import bundles
from tests.bench import TENANT, Bench
from tests.integration.evidence_stage import NOTE, SealingOffice, open_office
from tests.sealing import sealer_of

KEY_NOTE = {"text": "a", "api_token": "t"}


@dataclass
class KeyOffice:
    """A bench whose evidence is sealed with keys that are rotated."""

    bench: Bench
    settings: Settings
    folder: Path

    @property
    def ring(self) -> KeyRing:
        return KeyRing(self.settings.key_path)

    @property
    def sealer(self) -> Sealer:
        return sealer_of(self.bench.engine, LocalArchive(self.folder), self.settings.key_path)

    async def noted(self, count: int = 1) -> None:
        """Have runs end."""
        have = len(await self.bench.rows("SELECT 1 FROM runs"))
        for number in range(have, have + count):
            await self.bench.start("bench.note", {**KEY_NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        await self.bench.settle()

    async def begun(self) -> None:
        """Begin to seal all that has ended, and be lost before anything is stored."""
        keys = self.ring.keys()
        await SealingService(self.bench.engine).next_bundles(self.bench.engine.timing.poll * 0, keys.current, keys.ids)

    async def rows(self) -> list[dict[str, Any]]:
        return await self.bench.rows(
            "SELECT b.* FROM evidence_bundles b JOIN runs r USING (run_id) ORDER BY r.trigger_ref"
        )

    async def rotate(self) -> str:
        """Rotate, and return the id of the new key."""
        return (await operate.rotate_key(self.settings, "omar"))[-1].id


@pytest.fixture
def office(bench: Bench, tmp_path: Path, dsn: str) -> KeyOffice:
    return KeyOffice(bench, Settings(database_url=dsn, home=tmp_path, tenant=TENANT), tmp_path / "evidence")


async def test_what_was_begun_with_a_key_is_sealed_with_it_after_a_rotation(office: KeyOffice) -> None:
    await office.noted()
    await office.begun()
    old = office.ring.keys().current.public.key_id
    new = await office.rotate()
    await office.noted()
    while await office.sealer():
        pass
    assert [row["key_id"] for row in await office.rows()] == [old, new]
    assert all(row["stored_at"] for row in await office.rows())


async def test_a_bundle_that_was_uploaded_before_a_rotation_is_no_conflict_after_it(office: KeyOffice) -> None:
    await office.noted()
    await office.begun()
    (row,) = await office.rows()
    key = office.ring.keys().current
    dossier = await office.sealer.dossier(row["run_id"])
    lease = BundleLease(row["run_id"], row["key_id"], tries=1, faults=0, retain_days=None, file_number=1)
    await asyncio.to_thread(office.sealer._store, lease, dossier, key)
    await office.rotate()
    assert await office.sealer() == 1
    assert (await office.rows())[0]["stored_at"]


async def test_a_process_that_still_has_the_old_key_begins_nothing(office: KeyOffice, tmp_path: Path) -> None:
    await office.noted()
    behind = tmp_path / "behind/evidence.pem"
    behind.parent.mkdir()
    assert await office.sealer() == 1
    behind.write_bytes(office.settings.key_path.read_bytes())
    behind.chmod(0o600)
    await office.rotate()
    await office.noted()
    assert await replace(office.sealer, ring=KeyRing(behind))() == 0
    assert len(await office.rows()) == 1
    assert await office.sealer() == 1


async def test_a_process_without_the_key_of_a_bundle_leaves_it_to_others(office: KeyOffice, tmp_path: Path) -> None:
    await office.noted()
    await office.begun()
    elsewhere = KeyRing(tmp_path / "elsewhere/evidence.pem")
    assert await replace(office.sealer, ring=elsewhere)() == 0
    assert await office.sealer() == 1


async def test_a_key_that_was_put_in_the_file_by_hand_is_registered_and_signs(office: KeyOffice) -> None:
    await office.noted()
    assert await office.sealer() == 1
    path = office.settings.key_path
    path.unlink()
    public_path(path).unlink()
    await office.noted()
    assert await office.sealer() == 1
    register, needed = await looked_up(office.settings, keys.list_keys)
    assert [one.id for one in register] == [row["key_id"] for row in await office.rows()]
    assert register[0].signed_by == register[1].id
    assert needed == {}


async def test_a_rotation_that_was_cut_off_after_the_files_is_made_good_by_the_next_sealing(office: KeyOffice) -> None:
    await office.noted()
    assert await office.sealer() == 1
    new = office.ring.rotate()  # and then the database was away
    await office.noted()
    assert await office.sealer() == 1
    assert (await office.rows())[1]["key_id"] == new.public.key_id


async def test_a_key_is_rotated_only_where_it_is(office: KeyOffice, tmp_path: Path) -> None:
    await office.noted()
    assert await office.sealer() == 1
    elsewhere = office.settings.model_copy(update={"home": tmp_path / "elsewhere"})
    for _ in range(2):
        with pytest.raises(foreseen_errors.OperateError, match="is not the key that seals now"):
            await operate.rotate_key(elsewhere, "omar")
        assert not elsewhere.key_path.exists()
    load_or_create(elsewhere.key_path)
    with pytest.raises(foreseen_errors.OperateError, match="rotate where it is"):
        await operate.rotate_key(elsewhere, "omar")
    await office.noted()
    assert await office.sealer() == 1, "the workers' key still seals"


async def test_rotations_at_one_moment_follow_each_other(office: KeyOffice) -> None:
    await asyncio.gather(*(asyncio.to_thread(office.ring.rotate) for _ in range(4)))
    keys = office.ring.keys()
    assert len(set(keys.ids)) == 5
    assert load_public(public_path(office.settings.key_path)).key_id == keys.current.public.key_id


async def test_a_revoked_key_is_on_record_with_its_reason(office: KeyOffice) -> None:
    await office.noted()
    assert await office.sealer() == 1
    old = office.ring.keys().current.public.key_id
    await office.rotate()
    register = await operate.revoke_key(office.settings, old, "omar", "the machine was stolen")
    assert register[0].revoked
    assert register[0].revoked.why == "the machine was stolen"
    with pytest.raises(RegisterError, match="rotate first"):
        await operate.revoke_key(office.settings, register[-1].id, "omar", "no")


def test_a_retired_key_that_others_can_read_is_refused(office: KeyOffice) -> None:
    office.ring.rotate()
    (retired,) = (office.settings.key_path.parent / "retired").glob("*.pem")
    retired.chmod(0o644)
    with pytest.raises(KeyFileError, match="can be used by others"):
        office.ring.keys()


MONTHS, RUNS = 12, 9


@pytest.fixture
def year_office(bench: Bench, tmp_path: Path, dsn: str) -> SealingOffice:
    return open_office(bench, tmp_path, dsn)


async def worked(office: SealingOffice, month: int) -> None:
    """Have a month's runs end."""
    for number in range(RUNS):
        name = f"{month}-{number}"
        await office.bench.start("bench.note", {**NOTE, "incident": name}, ref=name)
    await office.bench.settle()


async def sealed(office: SealingOffice, most: int) -> int:
    """Seal up to so many bundles; return how many were stored."""
    sealer, done = office.sealer, 0
    while done < most and (stored := await sealer()):
        done += stored
    return done


async def begun(office: SealingOffice) -> None:
    """Begin to seal what has ended, and be lost before anything is stored."""
    ring = KeyRing(office.settings.key_path).keys()
    desk = SealingService(office.bench.engine)
    while await office.bench.rows("SELECT 1 FROM runs WHERE finished_at IS NOT NULL AND NOT sealed"):
        await desk.next_bundles(timedelta(0), ring.current, ring.ids)


async def rotated(office: SealingOffice) -> None:
    """Rotate the key, at the time of the bench."""
    key, bench = KeyRing(office.settings.key_path).rotate(), office.bench
    async with bench.engine.pool.connection() as conn:
        await keys.register_key(conn, TENANT, key, bench.clock())


async def trusted(office: SealingOffice, folder: Path) -> Trust:
    """Return what an auditor has at the end of the year: the newest key, and the register."""
    register, needed = await looked_up(office.settings, keys.list_keys)
    assert (len(register), needed) == (MONTHS + 1, {})
    (folder / "keys.json").write_bytes(write_register(register))
    return trust_of(public_path(office.settings.key_path), folder / "keys.json")


async def test_every_bundle_of_a_year_in_which_the_key_was_rotated_in_the_middle_of_sealing_verifies(
    year_office: SealingOffice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MOST_BUNDLES", 1)
    for month in range(MONTHS):
        await worked(year_office, month)
        await begun(year_office)
        assert await sealed(year_office, RUNS // 2) == RUNS // 2
        await rotated(year_office)
        year_office.bench.clock.move(days=30)
    await sealed(year_office, MONTHS * RUNS)
    rows = await year_office.bench.rows("SELECT run_id, key_id, location, status FROM evidence_bundles")
    assert Counter(row["status"] for row in rows) == {"stored": MONTHS * RUNS}
    assert sorted(Counter(row["key_id"] for row in rows).values()) == [RUNS] * MONTHS
    trust = await trusted(year_office, tmp_path)
    for row in rows:
        report = await asyncio.to_thread(verify, Path(row["location"]), trust)
        assert report.run_id == row["run_id"]
