"""The log's key is rotated: what each key signed verifies with both, and both are on the tenant's record."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.archive import make_notary, make_sealer
from countersign.cli.audit import audited, newest_checkpoint
from countersign.log_key import log_keys, rotate_log_key
from countersign.settings import Settings
from evidence.verify.trust import Trust, TrustError, open_kept
from evidence.verify.verify import verify
from receipts.log.checkpoint import LogKeys
from receipts.signing import load_public, public_path
from tests.bench import TENANT, Bench
from tests.integration.program_stage import command

NOTE = {"text": "a", "api_token": "t"}


@dataclass
class Office:
    """A bench whose evidence is sealed, and whose log is signed, as the settings say."""

    bench: Bench
    settings: Settings

    async def seal(self) -> Path:
        """Have a run end, and a process that has just started seal it; return the bundle."""
        number = len(await self.bench.rows("SELECT 1 FROM runs"))
        await self.bench.start("bench.note", {**NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        await self.bench.settle()
        notary = make_notary(self.settings, self.bench.engine, None)
        assert await make_sealer(self.settings, self.bench.engine, notary)() == 1
        (row,) = await self.bench.rows("SELECT location FROM evidence_bundles ORDER BY stored_at DESC LIMIT 1")
        return Path(row["location"])

    async def keep(self, file: Path) -> Path:
        """Keep the newest checkpoint."""
        file.write_text(await newest_checkpoint(self.settings))
        return file

    def trust(self, keys: LogKeys) -> Trust:
        return Trust(load_public(public_path(self.settings.key_path)), log=keys)


@pytest.fixture
def office(bench: Bench, dsn: str, tmp_path: Path) -> Office:
    return Office(bench, Settings(database_url=dsn, home=tmp_path, tenant=TENANT))


async def test_what_either_key_signed_verifies_with_both_and_not_with_the_other_alone(
    office: Office, tmp_path: Path
) -> None:
    early, first = await office.seal(), await office.keep(tmp_path / "first.txt")
    keys = rotate_log_key(office.settings)
    late = await office.seal()
    for bundle in (early, late):
        assert verify(bundle, office.trust(keys))
    new, old = (LogKeys((key,)) for key in keys.keys)
    assert verify(late, office.trust(new))
    with pytest.raises(TrustError, match="is not signed by"):
        open_kept(first, new)
    assert open_kept(first, old) == open_kept(first, keys)
    assert (await asyncio.to_thread(audited, office.settings, [first])).findings == []


async def test_each_key_that_signs_is_on_record_once(office: Office) -> None:
    await office.seal()
    await office.seal()
    rotate_log_key(office.settings)
    await office.seal()
    said = await office.bench.rows(
        "SELECT leaf -> 'data' ->> 'key' AS key FROM tenant_leaves WHERE leaf ->> 'event' = 'log_key.seen' ORDER BY seq"
    )
    assert [row["key"] for row in said] == [str(key) for key in reversed(log_keys(office.settings).keys)]


async def test_a_process_that_runs_signs_with_the_old_key_to_its_end(office: Office) -> None:
    running = make_notary(office.settings, office.bench.engine, None)
    keys = rotate_log_key(office.settings)
    assert str(running.signer.verifier(keys.keys[0].algorithm)) == str(keys.keys[1])


async def test_of_keys_that_are_rotated_at_once_every_public_half_is_kept(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    first = log_keys(settings).keys[0]
    rotated = await asyncio.gather(*(asyncio.to_thread(rotate_log_key, settings) for _ in range(4)))
    assert set(log_keys(settings).keys) >= {first, *(key for keys in rotated for key in keys.keys)}
    assert len(log_keys(settings).keys) == 5


def test_of_an_earlier_key_the_private_half_is_gone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    rotate_log_key(settings)
    files = [file for file in settings.log_key_path.parent.rglob("*.pem") if "PRIVATE" in file.read_text()]
    assert files == [settings.log_key_path]


async def test_the_command_shows_both_keys(tmp_path: Path) -> None:
    env = {"COUNTERSIGN_HOME": str(tmp_path)}
    old = (await command("log", "key", env=env)).out.strip()
    rotated = await command("log", "rotate", env=env)
    new = (await command("log", "key", env=env)).out.strip()
    assert (rotated.code, rotated.out.splitlines()[:2]) == (0, [f"before: {old}", f"now:    {new}"])
    assert (await command("log", "key", "--earlier", env=env)).out.split() == [new, old]


async def test_who_reads_the_key_while_it_is_rotated_has_one_or_the_other(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    log_keys(settings)

    def rotate() -> None:
        for _ in range(20):
            rotate_log_key(settings)

    def read() -> None:
        for _ in range(200):
            log_keys(settings)

    await asyncio.gather(*(asyncio.to_thread(one) for one in (rotate, read, read, read)))
    assert len(log_keys(settings).keys) == 21


async def test_a_kept_checkpoint_that_cannot_be_read_is_status_3(office: Office, dsn: str, tmp_path: Path) -> None:
    await office.seal()
    env = {"COUNTERSIGN_DATABASE_URL": dsn, "COUNTERSIGN_HOME": str(tmp_path), "COUNTERSIGN_TENANT": TENANT}
    kept = await office.keep(tmp_path / "kept.txt")
    assert (await command("log", "verify", "--checkpoint", str(kept), env=env)).code == 0
    gone, empty = tmp_path / "gone.txt", tmp_path / "empty.txt"
    empty.touch()
    for file, says in ((gone, " cannot be read: No such file or directory"), (empty, ": ")):
        done = await command("log", "verify", "--checkpoint", str(file), env=env)
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith(f"countersign: {file}{says}")
        assert done.err.count("\n") == 1
