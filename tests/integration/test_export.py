"""The evidence of a period, exported: every run of it, sealed or not, signed, on record, and verified offline."""

import csv
import io
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from countersign.settings import Settings
from evidence.export.index import Index
from evidence.local import LocalArchive
from evidence.statement import sha256
from receipts import canonical
from receipts.signing import load_or_create, public_path
from receipts.tenant_acts import EvidenceExported
from runtime.services.sequencer import Sequencer
from tests.bench import TENANT, Bench
from tests.integration.program_stage import Finished, command, environment, imported
from tests.once import Once
from tests.sealing import notary_of, sealer_of

FILE = {"company": "ACME", "text": "report"}
NOTE = {"incident": "I77", "text": "a", "api_token": "t"}
DAYS = ("--since", "2026-01-05", "--until", "2026-01-06")


@dataclass
class Office:
    """A bench with a sealed run that people approved, and an open one, of two days; a third comes a day later."""

    bench: Bench
    settings: Settings
    folder: Path
    runs: dict[str, str]

    async def export(self, *words: str, by: str = "omar") -> Finished:
        given = ("evidence", "export", *DAYS, "--as", by, "-o", str(self.folder), *words)
        return await command(*given, env=environment(self.settings))

    async def verify(self, *words: str, key: Path | None = None) -> Finished:
        given = ("--key", str(key or public_path(self.settings.key_path)), *words)
        return await command("evidence", "verify-export", str(self.folder), *given, env={})

    @property
    def index(self) -> Index:
        return Index.model_validate(canonical.loads((self.folder / "index.json").read_bytes()))

    async def acts(self) -> list[dict[str, Any]]:
        rows = await self.bench.rows("SELECT leaf FROM tenant_leaves ORDER BY seq")
        return [row["leaf"] for row in rows if row["leaf"]["event"] == EvidenceExported.event]


async def _play(bench: Bench, folder: Path) -> dict[str, str]:
    settings = Settings(database_url=bench.superuser, home=folder, tenant=TENANT)
    load_or_create(settings.key_path)
    archive = LocalArchive(folder / "evidence")
    runs = {"file": (await bench.start("bench.file", FILE, ref="file")).run_id}
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    assert await sealer_of(bench.engine, archive, settings.key_path)() == 1
    bench.clock.move(days=1)
    runs["wait"] = (await bench.start("bench.wait", {"case": "C1"}, ref="wait")).run_id
    await bench.settle()
    bench.clock.move(days=1)
    runs["late"] = (await bench.start("bench.note", NOTE, ref="late")).run_id
    await bench.settle()
    while await Sequencer(bench.engine)():
        pass
    assert await notary_of(bench.engine, archive, settings.key_path)() == 1
    return runs


OFFICE = Once(_play)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
async def office(bench: Bench, home: Path, tmp_path: Path, dsn: str) -> Office:
    runs = await OFFICE.on(bench, home)
    return Office(bench, Settings(database_url=dsn, home=home, tenant=TENANT), tmp_path / "export", runs)


async def test_every_run_of_the_period_is_in_it_sealed_or_not_and_why(office: Office) -> None:
    made = await office.export()
    assert (made.code, made.err) == (0, "")
    first, second = office.index.runs
    assert (first.run_id, first.state, first.why, first.outcome) == (office.runs["file"], "sealed", "", "succeeded")
    assert (second.run_id, second.sha256, second.why) == (office.runs["wait"], None, "not ended: waiting")
    (row,) = await office.bench.rows("SELECT sha256, size FROM evidence_bundles")
    assert (first.sha256, first.size, first.log_index) == (row["sha256"], row["size"], 0)
    counts = office.index.counts
    assert (counts.runs, counts.by_state, counts.votes) == (2, {"sealed": 1, "open": 1}, 2)
    assert f"no bundle: {office.runs['wait']}: not ended: waiting" in made.out


async def test_an_export_of_a_period_that_is_not_over_says_so(office: Office) -> None:
    assert "was not over" not in (await office.export()).out
    office.folder = office.folder.with_name("other")
    made = await command(
        *(
            "evidence",
            "export",
            "--since",
            "2026-01-05",
            "--until",
            "9999-12-30",
            "--as",
            "omar",
            "-o",
            str(office.folder),
        ),
        env=environment(office.settings),
    )
    assert "the period was not over at 20" in made.out
    assert "the period was not over at 20" in (await office.verify()).out


async def test_it_has_the_votes_of_the_period_as_a_table(office: Office) -> None:
    await office.export()
    text = (office.folder / "approvals.csv").read_bytes().decode()
    assert [line["name"] for line in csv.DictReader(io.StringIO(text, newline=""))] == ["Ann", "Ben"]


async def test_with_bundles_it_has_their_exceptions_as_a_table(office: Office) -> None:
    await office.export()
    assert not (office.folder / "exceptions.csv").exists()
    office.folder = office.folder.with_name("with-bundles")
    await office.export("--bundles")
    text = (office.folder / "exceptions.csv").read_bytes().decode()
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(line["kind"], line["run_id"]) for line in lines] == [("opening_not_recorded", office.runs["file"])]


async def test_the_exceptions_of_a_period_are_those_of_its_stored_bundles(office: Office) -> None:
    env = environment(office.settings)
    days = ("--since", "2026-01-05", "--until", "2026-01-06")
    found = await command("evidence", "exceptions", *days, env=env)
    assert (found.code, found.err) == (0, "")
    assert found.out.endswith("\n0 exceptions in 1 stored bundle and the tenant's chain; 1 run without a bundle\n")
    rows = json.loads((await command("evidence", "exceptions", *days, "--json", env=env)).out)["exceptions"]
    assert [(row["kind"], row["run_id"]) for row in rows] == [("opening_not_recorded", office.runs["file"])]
    stored = next((office.settings.home / "evidence").rglob(f"*{office.runs['file']}*.zip"))
    kept = stored.read_bytes()
    stored.chmod(0o600)
    try:
        stored.write_bytes(kept[:-1])
        changed = await command("evidence", "exceptions", *days, env=env)
    finally:
        stored.write_bytes(kept)
        stored.chmod(0o400)
    assert (changed.code, changed.out) == (1, "")
    assert changed.err.startswith("countersign: ")


async def test_it_has_the_newest_checkpoint_and_the_time_up_to_which_all_is_accounted_for(office: Office) -> None:
    await office.export()
    (row,) = await office.bench.rows("SELECT note, size FROM log_checkpoints ORDER BY size DESC LIMIT 1")
    assert (office.folder / "checkpoint.txt").read_text() == row["note"]
    log = office.index.log
    assert (log.findings, log.runs, log.until[:10]) == ([], 3, "2026-01-07")
    assert log.size >= row["size"]


async def test_it_verifies_offline_by_rules_that_are_named(office: Office) -> None:
    made = await office.export("--bundles")
    assert made.code == 0
    assert sha256((office.folder / f"bundles/{office.runs['file']}.zip").read_bytes()) == office.index.runs[0].sha256
    held = await office.verify()
    assert (held.code, held.err) == (0, "")
    assert held.out.startswith("Held against: 1 bundle; not the log: runs may be left out")
    assert held.out.endswith("\nEverything holds.\n")
    assert ": 2 runs; 1 open, 1 sealed; " in held.out
    assert "export.bundles: 1 bundle" in held.out
    log_key = (await command("log", "key", env=environment(office.settings))).out.strip()
    told = json.loads((await office.verify("--json", "--log-key", log_key)).out)
    assert (told["holds"], told["counts"]["runs"]) == (True, 2)
    assert told["held_against"] == {"bundles": True, "log": False, "log_key": True}
    assert told["checks"][-1]["found"] == "not held against the log"
    assert {"export.signed", "export.log"} <= {check["name"] for check in told["checks"]}


async def publish(office: Office) -> str:
    """Publish the log as it is by now; return its folder."""
    while await Sequencer(office.bench.engine)():
        pass
    notary = notary_of(office.bench.engine, LocalArchive(office.settings.home / "evidence"), office.settings.key_path)
    assert await replace(notary, every=timedelta())() == 1
    return str(office.settings.home / f"evidence/log/{TENANT}")


async def test_held_against_the_published_log_no_run_is_left_out(office: Office) -> None:
    await office.export()
    log = await publish(office)
    held = await office.verify("--log", log)
    assert (held.code, held.err) == (0, "")
    assert held.out.startswith("Held against: no bundles; the log, whose key was not given (--log-key): a forger")
    (row,) = await office.bench.rows("SELECT size FROM log_checkpoints ORDER BY size DESC LIMIT 1")
    assert f"export.complete: 2 runs of {row['size']} leaves, and no other of the period" in held.out
    log_key = (await command("log", "key", env=environment(office.settings))).out.strip()
    held = await office.verify("--log", log, "--log-key", log_key)
    assert held.out.startswith("Held against: no bundles; the log, signed by its key.\n")


async def test_an_export_that_the_published_log_does_not_have_on_record_is_refused(office: Office) -> None:
    await office.export()
    refused = await office.verify("--log", str(office.settings.home / f"evidence/log/{TENANT}"))
    assert refused.code == 1
    assert "export.recorded: index.json: its SHA-256 stands in no `evidence.exported`" in refused.err


async def test_a_row_that_is_not_as_its_leaves_tell_is_said_and_the_export_does_not_verify(office: Office) -> None:
    await office.bench.meddle("UPDATE runs SET requested_by = 'eve' WHERE run_id = %s", office.runs["file"])
    made = await office.export()
    assert made.code == 1
    assert f"row.changed: {office.runs['file']}: its row has another requested_by than its leaves tell" in made.out
    assert "its requested_by is not what its leaves say" in (await office.verify()).err


async def test_verifying_it_imports_nothing_that_needs_a_server_or_a_network(office: Office) -> None:
    await office.export()
    words = ["evidence", "verify-export", str(office.folder), "--key", str(public_path(office.settings.key_path))]
    assert await imported(words) == "[]"


async def test_the_export_is_an_act_of_a_named_person_in_the_tenants_chain(office: Office) -> None:
    await office.export()
    (leaf,) = await office.acts()
    assert leaf["actor"] == {"id": "omar", "kind": "person"}
    assert leaf["data"]["from"] == "2026-01-05T00:00:00.000000Z"
    assert leaf["data"]["until"] == "2026-01-07T00:00:00.000000Z"
    assert leaf["data"]["rows"] == 2
    assert leaf["data"]["sha256"] == sha256((office.folder / "index.json").read_bytes())
    assert leaf["data"]["asked"]["statement"] == sha256((office.folder / "statement.dsse.json").read_bytes())


async def test_a_stranger_exports_nothing_and_nothing_is_left(office: Office) -> None:
    refused = await office.export(by="mallory")
    assert (refused.code, refused.err) == (1, "countersign: the directory has no person mallory\n")
    assert not office.folder.exists()
    assert await office.acts() == []


async def test_nothing_is_overwritten(office: Office) -> None:
    office.folder.mkdir()
    (office.folder / "mine").write_text("mine")
    refused = await office.export()
    assert (refused.code, refused.err) == (
        1,
        f"countersign: {office.folder} is there already, and an export goes into a new folder\n",
    )
    assert [file.name for file in office.folder.iterdir()] == ["mine"]


async def test_a_bundle_that_the_archive_has_changed_stops_the_export(office: Office) -> None:
    kept = office.settings.home / f"evidence/{office.runs['file']}.zip"
    kept.unlink()
    refused = await office.export("--bundles")
    assert refused.code == 1
    assert office.runs["file"] in refused.err
    assert not office.folder.exists()
    assert await office.acts() == []


async def test_a_bundle_that_is_not_the_one_that_was_stored_stops_the_export(office: Office) -> None:
    await office.bench.meddle("UPDATE evidence_bundles SET sha256 = repeat('0', 64)")
    refused = await office.export("--bundles")
    assert "differs from the stored one" in refused.err
    assert not office.folder.exists()


async def test_where_the_log_does_not_hold_the_export_says_so_and_does_not_verify(office: Office) -> None:
    await office.bench.meddle("DELETE FROM audit_leaves WHERE run_id = %s", office.runs["late"])
    await office.bench.meddle("DELETE FROM runs WHERE run_id = %s", office.runs["late"])
    made = await office.export()
    assert made.code == 1
    assert f"the log does not hold: run.missing: {office.runs['late']}" in made.out
    broken = await office.verify()
    assert broken.code == 1
    assert "export.log: index.json: the log did not hold when this was made: run.missing" in broken.err


async def test_a_key_that_another_has_followed_signs_no_export(office: Office, tmp_path: Path) -> None:
    behind = office.settings.model_copy(update={"home": tmp_path / "behind"})
    load_or_create(behind.key_path)
    behind.key_path.write_bytes(office.settings.key_path.read_bytes())
    public_path(behind.key_path).write_bytes(public_path(office.settings.key_path).read_bytes())
    assert (await command("keys", "rotate", "--as", "omar", env=environment(office.settings))).code == 0
    office.settings = behind
    refused = await office.export()
    assert "is not the current signing key" in refused.err


@pytest.mark.parametrize("has_key", [True, False], ids=["of its own", "none"])
async def test_an_export_where_the_workers_key_is_not_brings_no_key_into_the_register(
    office: Office, tmp_path: Path, *, has_key: bool
) -> None:
    office.settings = office.settings.model_copy(update={"home": tmp_path / "elsewhere"})
    if has_key:
        load_or_create(office.settings.key_path)
    refused = await office.export()
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert str(office.settings.key_path) in refused.err
    assert office.settings.key_path.exists() == has_key
    assert await office.bench.rows("SELECT number FROM signing_keys") == [{"number": 1}]


async def test_it_verifies_with_the_register_after_a_rotation(office: Office, tmp_path: Path) -> None:
    await office.export()
    env = environment(office.settings)
    assert (await command("keys", "rotate", "--as", "omar", env=env)).code == 0
    assert (await office.verify()).code == 4
    register = tmp_path / "keys.json"
    assert (await command("keys", "export", "-o", str(register), env=env)).code == 0
    held = await office.verify("--keys", str(register))
    assert (held.code, held.err) == (0, "")
