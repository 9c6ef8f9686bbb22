"""An auditor who has kept a checkpoint finds out from any later bundle, offline, whether the log is still that one."""

from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree

import pytest

from evidence.archive.local import LocalArchive
from receipts.log.note import Algorithm
from receipts.signing import public_path
from tests.bench import Bench
from tests.integration.program_stage import Finished, command
from tests.sealing import notary_of, sealer_of

NOTE = {"text": "a", "api_token": "t"}


@dataclass
class Office:
    """A bench that seals into a folder and publishes its log there, and what an auditor keeps outside."""

    bench: Bench
    folder: Path
    kept: Path

    @property
    def key(self) -> Path:
        return self.folder / "keys/evidence.pem"

    async def seal(self) -> Path:
        """Have a run end and be sealed, and the log be published; return the bundle."""
        number = len(await self.bench.rows("SELECT 1 FROM runs"))
        await self.bench.start("bench.note", {**NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        await self.bench.settle()
        archive = LocalArchive(self.folder)
        assert await sealer_of(self.bench.engine, archive, self.key)() == 1
        self.bench.clock.move(minutes=1)
        assert await notary_of(self.bench.engine, archive, self.key)() == 1
        (row,) = await self.bench.rows("SELECT location FROM evidence_bundles ORDER BY stored_at DESC LIMIT 1")
        return Path(row["location"])

    def keep(self) -> None:
        """Keep the checkpoint that is published."""
        self.kept.write_bytes((self.folder / "log/acme/checkpoint").read_bytes())

    async def verify(self, bundle: Path, log: Path | None) -> Finished:
        """Verify a bundle as an auditor does who has kept a checkpoint."""
        signer = notary_of(self.bench.engine, LocalArchive(self.folder), self.key).signer
        known = ["--log-key", str(signer.verifier(Algorithm.ED25519)), "--checkpoint", str(self.kept)]
        tiles, key = ["--log", str(log)] if log else [], str(public_path(self.key))
        return await command("evidence", "verify", str(bundle), "--key", key, *known, *tiles, env={})


@pytest.fixture
def office(bench: Bench, tmp_path: Path) -> Office:
    (tmp_path / "evidence/keys").mkdir(parents=True)
    return Office(bench, tmp_path / "evidence", tmp_path / "kept.txt")


async def test_bundles_from_before_and_after_are_of_the_log_that_was_kept(office: Office) -> None:
    early = await office.seal()
    await office.seal()
    office.keep()
    late = await office.seal()
    for bundle in (early, late):
        done = await office.verify(bundle, office.folder / "log/acme")
        assert (done.code, done.err) == (0, ""), done.out
        assert "13. one log with 1 checkpoint that was kept" in done.out
        done = await office.verify(bundle, None)
        assert (done.code, "log.kept: logs of" in done.err) == (3, True)


async def test_a_log_that_was_made_anew_without_a_run_is_found_from_one_bundle(office: Office, tmp_path: Path) -> None:
    await office.seal()
    office.keep()
    await office.bench.meddle("DELETE FROM audit_leaves")
    await office.bench.forget_log()
    await office.bench.await_places("tenant_leaves")
    anew = replace(office, folder=tmp_path / "anew")
    copytree(office.folder / "keys", anew.folder / "keys")
    bundle = await anew.seal()
    done = await anew.verify(bundle, anew.folder / "log/acme")
    assert done.code == 1
    assert "log.kept: log/checkpoint.txt: is not of one log with the checkpoint of" in done.err
