"""Checkpoints are stamped by an authority where one is named; it being away, wrong or slow holds up nothing else."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from bot.doctor import Fact
from countersign.archive import make_jobs
from countersign.cli.audit import later_stamp
from countersign.doctor.evidence import audit_log, time_stamps
from countersign.foreseen_errors import OperateError
from countersign.settings import Settings
from evidence.local import LocalArchive
from evidence.notary import Notary
from evidence.retention import Keeper
from evidence.sealer import Sealer
from evidence.timestamping import Stamper, Stamping
from evidence.verify.trust import Trust
from evidence.verify.verify import verify
from receipts.signing import load_public, public_path
from receipts.stamp import STAMP_LIMIT, make_request
from runtime.services.log import AuditLogService, TimestampService
from tests.bench import TENANT, Bench
from tests.integration.program_stage import command, environment
from tests.sealing import notary_of, sealer_of
from tests.stamps import DAY, REPLY, Tsa, served

NOTE = {"text": "a", "api_token": "t"}
FOLDER = f"log/{TENANT}/"


@dataclass
class Office:
    """A bench whose log is stamped by an authority over HTTP."""

    bench: Bench
    folder: Path
    tsa: Tsa
    url: str
    stamping: Stamping

    @property
    def key(self) -> Path:
        return self.folder / "keys/evidence.pem"

    @property
    def notary(self) -> Notary:
        made = notary_of(self.bench.engine, LocalArchive(self.folder / "evidence"), self.key)
        return replace(made, stamping=self.stamping)

    @property
    def sealer(self) -> Sealer:
        made = sealer_of(self.bench.engine, LocalArchive(self.folder / "evidence"), self.key)
        return replace(made, notary=self.notary)

    async def finish(self) -> str:
        """Have a run end, and its leaves be given their places; return it."""
        number = len(await self.bench.rows("SELECT 1 FROM runs"))
        claim = await self.bench.start("bench.note", {**NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        await self.bench.settle()
        await self.notary.desk.sequence()
        self.bench.clock.move(minutes=1)
        return claim.run_id

    async def sealed(self) -> tuple[str, Path]:
        """Have a run end and be sealed; return it and its bundle."""
        run_id = await self.finish()
        while await self.sealer():
            pass
        (row,) = await self.bench.rows("SELECT location FROM evidence_bundles WHERE run_id = %s", run_id)
        return run_id, Path(row["location"])

    async def begun(self) -> str:
        """Have a run end, and its sealing begin: all its leaves have their places; return it."""
        run_id = await self.finish()
        keys = self.sealer.ring.keys()
        assert await self.sealer.desk.next_bundles(timedelta(minutes=2), keys.current, keys.ids)
        await self.notary.desk.sequence()
        return run_id

    async def stamps(self) -> int:
        return len(await self.bench.rows("SELECT 1 FROM log_stamps"))

    def trust(self) -> Trust:
        return Trust(load_public(public_path(self.key)), authority=self.tsa.authority)

    def settings(self, dsn: str) -> Settings:
        return Settings(
            database_url=dsn, home=self.folder, tenant=TENANT, tsa_url=self.url, tsa_ca=self.tsa.ca, stamp_seconds=60
        )


def found(path: Path, trust: Trust) -> str:
    return {held.rule: held.found for held in verify(path, trust).rules}["log.stamped"]


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[tuple[Tsa, str]]:
    tsa = Tsa(tmp_path / "tsa")
    with served(tsa) as url:
        yield tsa, url


@pytest.fixture
def office(bench: Bench, tmp_path: Path, answering: tuple[Tsa, str]) -> Office:
    tsa, url = answering
    (tmp_path / "keys").mkdir()
    archive = LocalArchive(tmp_path / "evidence")
    stamper = Stamper(url, tsa.authority, timedelta(minutes=1))
    stamping = Stamping(TimestampService(bench.engine), AuditLogService(bench.engine), archive, FOLDER, stamper)
    return Office(bench, tmp_path, tsa, url, stamping)


async def test_what_is_stamped_is_published_beside_the_log_and_openssl_takes_it(office: Office) -> None:
    await office.finish()
    assert await office.notary() == 1
    assert await office.stamping() == 1
    (size,) = [row["size"] for row in await office.bench.rows("SELECT size FROM log_stamps")]
    folder = office.folder / "evidence" / FOLDER
    stamped = folder / f"stamps/{size}"
    assert (stamped / "checkpoint").read_bytes() == (folder / "checkpoint").read_bytes()
    assert office.tsa.finds(stamped / "checkpoint.tsr", stamped / "checkpoint")
    assert not office.tsa.finds(stamped / "checkpoint.tsr", office.tsa.ca)
    assert await office.stamping() == 0, "it is stamped, and published"
    assert office.tsa.asked == 1


async def test_what_is_in_the_way_of_publishing_the_log_stays_said_when_a_stamp_is_asked_for(
    office: Office, dsn: str
) -> None:
    await office.finish()
    assert await office.notary() == 1
    await office.notary.desk.note_fault("the log is not published: somebody is in the way")
    assert await office.stamping() == 1
    (fact,) = await audit_log(office.settings(dsn))
    assert (fact.ok, "somebody is in the way" in fact.detail) == (False, True)
    await office.finish()
    assert await office.notary() == 1
    assert (await audit_log(office.settings(dsn)))[0].ok


async def test_a_bundle_whose_checkpoint_is_signed_for_it_has_its_stamp(office: Office) -> None:
    _, path = await office.sealed()
    assert "no later than" in found(path, office.trust())


async def test_a_bundle_whose_checkpoint_was_signed_before_has_it_stamped_if_that_is_due(office: Office) -> None:
    run_id = await office.begun()
    assert await office.notary() == 1
    log = (await office.sealer.dossier(run_id)).log
    assert log is not None
    assert log.stamp is not None


async def test_a_bundle_is_proven_by_the_first_checkpoint_over_it_that_is_stamped(office: Office) -> None:
    run_id = await office.begun()
    assert await office.notary() == 1
    assert await office.stamping() == 1
    await office.finish()
    assert await office.notary() == 1
    log = (await office.sealer.dossier(run_id)).log
    assert log is not None
    assert log.stamp is not None
    (row,) = await office.bench.rows("SELECT note FROM log_checkpoints ORDER BY size LIMIT 1")
    assert log.checkpoint == row["note"]


async def test_stamps_are_as_far_apart_as_is_said_and_the_last_leaves_get_theirs(office: Office) -> None:
    await office.sealed()
    await office.finish()
    office.bench.clock.move(seconds=-59.0)
    assert await office.sealer() == 1
    assert await office.stamping() >= 0
    assert (await office.stamps(), office.tsa.asked) == (1, 1)
    office.bench.clock.move(seconds=59.0)
    await office.stamping()
    assert (await office.stamps(), office.tsa.asked) == (2, 2), "though the log has not grown since"


async def test_another_process_asks_no_earlier(office: Office) -> None:
    await office.sealed()
    await office.finish()
    office.bench.clock.move(seconds=-30.0)
    assert await office.notary() >= 0
    other = Stamper(office.url, office.tsa.authority, timedelta(minutes=1))
    await replace(office.stamping, stamper=other)()
    assert office.tsa.asked == 1


async def test_a_bundle_is_sealed_alike_though_its_checkpoint_is_stamped_meanwhile(office: Office) -> None:
    run_id = await office.begun()
    assert await office.notary() == 1
    first = await replace(office.sealer, notary=replace(office.notary, stamping=None)).dossier(run_id)
    assert first.log is not None
    assert first.log.stamp is None
    await office.stamping()
    assert await office.stamps() == 1
    assert await office.sealer.dossier(run_id) == first


# Whatever is wrong with the authority.


def _answer(office: Office, answers: Callable[[bytes], bytes]) -> None:
    office.tsa.answers = answers


def _refuse(office: Office, status: int, kind: str = REPLY) -> None:
    office.tsa.status, office.tsa.kind = status, kind


def _is_away(office: Office, _: bytes) -> None:
    office.stamping.stamper.url = "http://127.0.0.1:1/"


def _is_another(office: Office, _: bytes) -> None:
    office.stamping.stamper.authority = Tsa(office.folder / "another", family=1).authority


def _is_expired(office: Office, _: bytes) -> None:
    office.tsa.signs_as(Tsa(office.folder / "expired", until=-DAY))


def _is_silent(office: Office, _: bytes) -> None:
    office.stamping.stamper.patience = timedelta(milliseconds=200)
    office.tsa.hold.clear()


Fault = Callable[[Office, bytes], None]
FAULTS: dict[str, tuple[str, Fault]] = {
    "it is away": ("Cannot connect to host", _is_away),
    "an error": ("it answers 503", lambda office, _: _refuse(office, 503)),
    "it is somewhere else": ("it answers 307", lambda office, _: _refuse(office, 307)),
    "a page": ("it answers 200 with text/html", lambda office, _: _refuse(office, 200, "text/html")),
    "no stamp": ("not a time stamp", lambda office, _: _answer(office, lambda _: b"ok")),
    "too much": (
        "it answers more than 65536 bytes",
        lambda office, _: _answer(office, lambda _: bytes(STAMP_LIMIT + 1)),
    ),
    "a stamp of something else": (
        "the stamp is of something else",
        lambda office, _: _answer(office, lambda _: office.tsa.reply(make_request(b"other").body)),
    ),
    "a stamp that was given before": (
        "Nonce mismatch",
        lambda office, note: _answer(office, lambda _: office.tsa.reply(make_request(note).body)),
    ),
    "an authority that is not trusted": ("the stamp does not hold: certificate signature failure", _is_another),
    "its certificate has expired": ("the stamp does not hold: certificate has expired", _is_expired),
    "it does not answer": ("TimeoutError", _is_silent),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_whatever_is_wrong_with_the_authority_all_else_goes_on_and_it_is_told_once(
    office: Office, fault: tuple[str, Fault], caplog: pytest.LogCaptureFixture
) -> None:
    said, begin = fault
    await office.finish()
    assert await office.notary() == 1
    newest = await office.notary.desk.newest()
    assert newest is not None
    begin(office, newest.note.encode())
    for _ in range(2):
        assert await office.stamping() == 0
        _, path = await office.sealed()
        assert found(path, replace(office.trust(), authority=None)) == "no time stamp"
        office.bench.clock.move(minutes=2)
    warnings = [record.getMessage() for record in caplog.records if "no time stamp from" in record.getMessage()]
    assert len(warnings) == 1
    assert said in warnings[0]
    assert await office.stamps() == 0


async def test_an_authority_that_is_back_is_asked_again_and_that_is_told(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    office.tsa.status = 503
    await office.sealed()
    office.tsa.status = 200
    await office.sealed()
    assert office.tsa.asked == 2
    assert await office.stamps() == 1
    assert "again" in caplog.text


async def test_an_authority_that_gave_none_is_left_alone_for_a_minute(office: Office) -> None:
    office.stamping.stamper.every = timedelta(seconds=1)
    office.tsa.status = 503
    await office.finish()
    await office.notary()
    for seconds in (0, 30, 29):
        office.bench.clock.move(seconds=seconds)
        await office.stamping()
    assert office.tsa.asked == 1
    office.bench.clock.move(seconds=1)
    await office.stamping()
    assert office.tsa.asked == 2


async def test_a_stamp_that_cannot_be_published_is_published_later(office: Office) -> None:
    await office.finish()
    assert await office.notary() == 1
    folder = office.folder / "evidence" / FOLDER / "stamps"
    folder.write_text("in the way")
    assert await office.stamping() == 0
    folder.unlink()
    assert await office.stamping() == 1
    assert await office.stamps() == 1


# What people do with stamps.


async def test_an_auditor_shows_with_a_later_stamp_since_when_a_run_is_on_record(office: Office, dsn: str) -> None:
    unstamped = replace(office.sealer, notary=replace(office.notary, stamping=None))
    run_id = await office.finish()
    settings = office.settings(dsn)
    with pytest.raises(OperateError, match=f"no bundle of {run_id} stands in the log yet"):
        await later_stamp(settings, run_id)
    assert await unstamped() == 1
    (row,) = await office.bench.rows("SELECT location FROM evidence_bundles")
    with pytest.raises(OperateError, match=r"no checkpoint of .* leaves or more has a time stamp yet"):
        await later_stamp(settings, run_id)
    for _ in range(3):
        await office.finish()
    await office.notary()
    await office.stamping()
    file = office.folder / "a.stamp"
    tiles = await office.bench.meddle("DELETE FROM log_tiles RETURNING *")
    changed = await command("log", "stamp", run_id, "-o", str(file), env=environment(settings))
    assert (changed.code, changed.err.count("\n"), "is not as wide as the log says" in changed.err) == (1, 1, True)
    for tile in tiles:
        query = "INSERT INTO log_tiles (tenant, level, number, hashes) VALUES (%s, %s, %s, %s)"
        await office.bench.meddle(query, *(tile[name] for name in ("tenant", "level", "number", "hashes")))
    wrote = await command("log", "stamp", run_id, "-o", str(file), env=environment(settings))
    assert (wrote.code, wrote.out) == (0, f"stamp: {file}\n")
    words = ("evidence", "verify", row["location"], "--key", str(public_path(office.key)), "--tsa", str(office.tsa.ca))
    without = await command(*words, env={})
    assert without.code == 1
    assert "log.stamped: log/checkpoint.tsr: is not in the bundle" in without.err
    shown = await command(*words, "--stamp", str(file), env={})
    assert shown.code == 0
    assert "they existed no later than" in shown.out


async def test_doctor_finds_an_authority_that_stamps_no_more(office: Office, dsn: str) -> None:
    settings = office.settings(dsn)

    async def fact() -> Fact:
        (one,) = await time_stamps(settings, office.bench.clock)
        return one

    assert "all is stamped" in (await fact()).detail
    await office.finish()
    await office.notary()
    office.bench.clock.move(minutes=15)
    assert (await fact()).ok
    office.bench.clock.move(minutes=2)
    assert not (await fact()).ok
    await office.stamping()
    assert (await fact()).ok
    assert await time_stamps(Settings(database_url=dsn, tenant=TENANT), office.bench.clock) == []


async def test_a_worker_has_its_log_stamped_where_an_authority_is_named(office: Office, dsn: str) -> None:
    jobs = make_jobs(office.settings(dsn), office.bench.engine)
    assert [type(job) for job in jobs] == [Sealer, Notary, Keeper, Stamping]
    sealer, notary, _, stamping = jobs
    assert isinstance(sealer, Sealer)
    assert isinstance(notary, Notary)
    assert sealer.notary is notary
    assert notary.stamping is stamping
    assert len(make_jobs(Settings(database_url=dsn, home=office.folder), office.bench.engine)) == 3


def test_an_authority_is_named_with_its_certificates() -> None:
    for one in ({"tsa_url": "http://tsa.example/"}, {"tsa_ca": "ca.pem"}):
        with pytest.raises(ValidationError, match="COUNTERSIGN_TSA_CA: only one of them is set"):
            Settings.model_validate(one)
