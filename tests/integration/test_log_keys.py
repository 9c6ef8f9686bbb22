"""Keys of the log: rotated, kept checkpoints, and tables that the audit compares.

The log's key is rotated: what each key signed verifies with both, and both are on the tenant's record.

An auditor who has kept a checkpoint finds out from any later bundle, offline, whether the log is still that one.

Each table whose rows stand in evidence is compared by the audit: what was changed or taken out there is found.
"""

import asyncio
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from countersign.archive import make_notary, make_sealer
from countersign.cli.audit import audited, newest_checkpoint
from countersign.log_key import log_keys, rotate_log_key
from countersign.settings import Settings
from evidence.local import LocalArchive
from evidence.verify.trust import Trust, TrustError, open_kept
from evidence.verify.verify import verify
from receipts.checkpoint import LogKeys
from receipts.note import Algorithm
from receipts.signing import load_or_create, load_public, public_path
from runtime.model.votes import CardAct
from runtime.services.audit import Audit, audit
from runtime.services.sequencer import Sequencer
from runtime.store.run_history import run_histories_in
from tests.bench import TENANT, Bench
from tests.integration.acts_stage import asked, edit, request_of, say
from tests.integration.program_stage import Finished, command, environment
from tests.once import Once
from tests.sealing import notary_of, sealer_of

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

    async def seen(self) -> list[dict[str, Any]]:
        """Return the leaves that say that a key signs the log."""
        query = "SELECT leaf FROM tenant_leaves WHERE leaf ->> 'event' = 'log_key.seen' ORDER BY seq"
        return [row["leaf"] for row in await self.bench.rows(query)]

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
    assert [leaf["data"]["key"] for leaf in await office.seen()] == [
        str(key) for key in reversed(log_keys(office.settings).keys)
    ]


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


async def test_the_command_shows_both_keys_and_who_rotated_them_is_on_record(office: Office) -> None:
    await office.seal()
    env = environment(office.settings)
    old = (await command("log", "key", env=env)).out.strip()
    refused = await command("log", "rotate", "--as", "mallory", env=env)
    assert (refused.code, refused.err) == (1, "countersign: the directory has no person mallory\n")
    assert (await command("log", "key", env=env)).out.strip() == old
    rotated = await command("log", "rotate", "--as", "omar", env=env)
    new = (await command("log", "key", env=env)).out.strip()
    assert (rotated.code, rotated.out.splitlines()[:2]) == (0, [f"before: {old}", f"now:    {new}"])
    assert (await command("log", "key", "--earlier", env=env)).out.split() == [new, old]
    await office.seal()
    assert [(leaf["actor"]["id"], leaf["data"]["key"]) for leaf in await office.seen()] == [
        ("countersign", old),
        ("omar", new),
    ]


async def test_where_the_new_key_cannot_be_put_on_record_the_old_one_signs_on(office: Office) -> None:
    await office.seal()
    env = environment(office.settings)
    old = log_keys(office.settings)
    await office.bench.meddle("ALTER TABLE tenant_leaves ADD CONSTRAINT no_more CHECK (seq < 0) NOT VALID")
    failed = await command("log", "rotate", "--as", "omar", env=env)
    assert failed.code != 0
    assert log_keys(office.settings) == old
    await office.bench.meddle("ALTER TABLE tenant_leaves DROP CONSTRAINT no_more")
    assert (await command("log", "rotate", "--as", "omar", env=env)).code == 0
    new = log_keys(office.settings).keys[0]
    assert [leaf["actor"]["id"] for leaf in await office.seen() if leaf["data"]["key"] == str(new)] == ["omar"]


_DIES = """
import os, sys
from pathlib import Path
from countersign.log_key import rotate_log_key
from countersign.settings import Settings

def record(key):
    sys.stdout.write(str(key))
    sys.stdout.flush()
    os._exit(9)

rotate_log_key(Settings(home=Path(sys.argv[1]), tenant=sys.argv[2]), record)
"""


async def test_a_rotation_that_died_once_it_was_on_record_is_gone_on_with(office: Office) -> None:
    await office.seal()
    old = log_keys(office.settings)
    dying = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _DIES, str(office.settings.home), TENANT, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await dying.communicate()
    assert dying.returncode == 9
    assert log_keys(office.settings) == old, "the key that is not in place yet signs nothing"
    await office.seal()
    keys = rotate_log_key(office.settings)
    assert [str(key) for key in keys.keys] == [told.decode(), str(old.keys[0])]
    assert verify(await office.seal(), office.trust(keys))


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


@dataclass
class KeptOffice:
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
def kept_office(bench: Bench, tmp_path: Path) -> KeptOffice:
    (tmp_path / "evidence/keys").mkdir(parents=True)
    return KeptOffice(bench, tmp_path / "evidence", tmp_path / "kept.txt")


async def test_bundles_from_before_and_after_are_of_the_log_that_was_kept(kept_office: KeptOffice) -> None:
    early = await kept_office.seal()
    await kept_office.seal()
    kept_office.keep()
    late = await kept_office.seal()
    for bundle in (early, late):
        done = await kept_office.verify(bundle, kept_office.folder / "log/acme")
        assert (done.code, done.err) == (0, ""), done.out
        assert "13. one log with 1 checkpoint that was kept" in done.out
        done = await kept_office.verify(bundle, None)
        assert (done.code, "log.kept: logs of" in done.err) == (3, True)


async def test_a_log_that_was_made_anew_without_a_run_is_found_from_one_bundle(
    kept_office: KeptOffice, tmp_path: Path
) -> None:
    await kept_office.seal()
    kept_office.keep()
    await kept_office.bench.meddle("DELETE FROM audit_leaves")
    await kept_office.bench.forget_log()
    await kept_office.bench.await_places("tenant_leaves")
    anew = replace(kept_office, folder=tmp_path / "anew")
    copytree(kept_office.folder / "keys", anew.folder / "keys")
    bundle = await anew.seal()
    done = await anew.verify(bundle, anew.folder / "log/acme")
    assert done.code == 1
    assert "log.kept: log/checkpoint.txt: is not of one log with the checkpoint of" in done.err


CHANGED = {
    "approvals": "purpose = 'another'",
    "definitions": "canonical = convert_to('{}', 'UTF8')",
    "edits": "reason = 'another'",
    "evidence_bundles": "sealed_seq = sealed_seq - 1",
    "leaf_sets": 'leaves = replace(leaves::text, \'"event":"run.\', \'"event":"ran.\')::json',
    "policy_decisions": "document = '{}'",
    "policy_texts": "files = '{}'",
    "questions": "question = 'another'",
    "reads": "document = '{}'",
    "receipts": "document = '{}'",
    "runs": "requested_by = 'eve'",
    "votes": "reason = 'another'",
}
"""For each table that evidence is read from, a change that evidence would tell."""
COLUMNS = {
    "edits": ("person = 'eve'", "person_name = 'Eve'", "groups = '[]'", "account = 'UEVE'", "changes = '[]'"),
    "evidence_bundles": (
        "sha256 = repeat('0', 64)",
        "size = 1",
        "location = 'elsewhere'",
        "sealed_cards = (SELECT json_object_agg(approval_id, 7) FROM approvals)",
    ),
    "leaf_sets": (
        *("at = at + interval '1 second'", "request_id = 'another'"),
        "hashes = decode(repeat('00', length(hashes)), 'hex')",
    ),
    "runs": (
        *("status = 'canceled'", "outcome = 'another'", "trigger_type = 'another'", "trigger_ref = run_id"),
        *("submitted_by = 'another'",),
    ),
}
"""Further columns that stand in evidence, or by which it is found."""


@dataclass
class AuditedOffice:
    """A bench with a sealed run that was asked about and edited, and one with a read."""

    bench: Bench
    edited: str

    async def audit(self) -> Audit:
        return await asyncio.to_thread(audit, self.bench.superuser, TENANT, ())


async def _play(bench: Bench, folder: Path) -> str:
    first = await asked(bench)
    assert (await say(bench, "ann", first, CardAct.ASK, "who owns it?")).counted
    assert await edit(bench, "ann", first, {"copies": 3}) is None
    await bench.settle()
    (run,) = await bench.rows("SELECT run_id FROM runs")
    second = await request_of(bench, run["run_id"])
    for person in ("ben", "cat"):
        assert (await bench.click(person, second)).counted
    await bench.settle()
    await bench.start("bench.branches", {}, ref="reads")
    await bench.settle()
    load_or_create(folder / "key.pem")
    sealer = sealer_of(bench.engine, LocalArchive(folder / "evidence"), folder / "key.pem")
    assert await sealer() == 2
    while await Sequencer(bench.engine)():
        pass
    return str(run["run_id"])


OFFICE = Once(_play)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
async def audited_office(editing: Bench, home: Path) -> AuditedOffice:
    return AuditedOffice(editing, await OFFICE.on(editing, home))


async def test_what_nobody_touched_holds(audited_office: AuditedOffice) -> None:
    assert (await audited_office.audit()).findings == []


async def test_each_table_from_which_evidence_is_read_has_its_change_here(audited_office: AuditedOffice) -> None:
    with psycopg.connect(audited_office.bench.superuser, row_factory=dict_row) as conn:
        run_histories_in(conn, [audited_office.edited])
        rows = conn.execute(
            "SELECT relname FROM pg_stat_xact_user_tables WHERE seq_scan > 0 OR coalesce(idx_scan, 0) > 0"
        ).fetchall()
    assert {row["relname"] for row in rows} == CHANGED.keys()


CHANGES = [(table, change) for table in CHANGED for change in (CHANGED[table], *COLUMNS.get(table, ()))]


@pytest.mark.parametrize(("table", "change"), CHANGES)
async def test_a_change_in_a_table_that_stands_in_evidence_is_found(
    audited_office: AuditedOffice, table: str, change: str
) -> None:
    assert await audited_office.bench.meddle(f"UPDATE {table} SET {change} RETURNING 1")
    assert (await audited_office.audit()).findings


@pytest.mark.parametrize("table", CHANGED)
async def test_a_row_that_was_taken_out_of_a_table_that_stands_in_evidence_is_found(
    audited_office: AuditedOffice, table: str
) -> None:
    assert await audited_office.bench.meddle(f"DELETE FROM {table} RETURNING 1")
    assert (await audited_office.audit()).findings
