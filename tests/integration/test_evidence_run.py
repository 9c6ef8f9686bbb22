"""A run's end on real parts: sealed, stored in MinIO or a folder, announced, and verified offline."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evidence.archive import Archive
from evidence.build import attestation_of, build
from evidence.local import LocalArchive
from evidence.retention import Retention
from evidence.s3 import S3Archive
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack, unpack
from receipts import canonical
from receipts.fields import timestamp
from receipts.signing import SigningKey, load_or_create, public_path
from runtime.clock import utc_now
from runtime.handlers import OutcomeUnknownError
from runtime.services.operator import OperatorService
from runtime.worker import Worker
from tests.bench import Bench
from tests.integration.acts_stage import delegate
from tests.integration.conftest import Targets
from tests.integration.servers import MinioServer, s3_server
from tests.sealing import sealer_of

FILE = {"company": "ACME", "text": "report"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    with s3_server(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(params=["folder", "bucket"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    if request.param == "folder":
        return LocalArchive(tmp_path / "evidence")
    server: MinioServer = request.getfixturevalue("server")
    bucket = (
        server.make_bucket("evidence-of-runs") if "evidence-of-runs" not in _buckets(server) else "evidence-of-runs"
    )
    return S3Archive(server.client(), bucket, tmp_path.name, Retention("COMPLIANCE", 1), utc_now)


def _buckets(server: MinioServer) -> set[str]:
    return {bucket["Name"] for bucket in server.client().list_buckets()["Buckets"]}


@dataclass
class Office:
    """A bench whose worker seals what has finished."""

    bench: Bench
    archive: Archive
    key: SigningKey
    public: Path

    def bundle(self, row: dict[str, str], to: Path) -> Path:
        path = to / "bundle.zip"
        path.write_bytes(self.archive.get(row["location"]))
        return path

    async def row(self, run_id: str) -> dict[str, str]:
        return (await self.bench.rows("SELECT * FROM evidence_bundles WHERE run_id = %s", run_id))[0]


@pytest.fixture
def office(bench: Bench, archive: Archive, tmp_path: Path) -> Office:
    path = tmp_path / "keys" / "evidence.pem"
    key = load_or_create(path)
    worker = Worker(bench.engine, jobs=[sealer_of(bench.engine, archive, path)])
    return Office(replace(bench, worker=worker), archive, key, public_path(path))


async def _filed(bench: Bench) -> str:
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    await bench.meddle("UPDATE approvals SET card_ts = '1.0'")  # as the bot does that posts it
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    return run_id


async def test_the_sha256_is_the_same_in_file_database_metadata_and_thread(office: Office, tmp_path: Path) -> None:
    run_id = await _filed(office.bench)
    row = await office.row(run_id)
    bundle = office.bundle(row, tmp_path)
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() == row["sha256"]
    assert office.archive.head(row["location"]).sha256 == row["sha256"]
    said = [message["text"] for message in office.bench.chat.said("post_message")]
    assert any(row["sha256"] in text for text in said)
    assert verify(bundle, office.public).run_id == run_id
    beside = office.archive.get(office.archive.locate(attestation_of(run_id)))
    told = json.loads(base64.b64decode(json.loads(beside)["dsseEnvelope"]["payload"]))
    assert told["subject"] == [{"name": f"{run_id}.zip", "digest": {"sha256": row["sha256"]}}]


async def test_the_same_run_sealed_twice_gives_the_same_bytes(office: Office) -> None:
    run_id = await _filed(office.bench)
    sealer = sealer_of(office.bench.engine, office.archive, office.public.with_name("evidence.pem"))
    first = build(await sealer.dossier(run_id), office.key)
    late = await office.bench.click("cat", await office.bench.approval_id(status="approved"))
    assert not late.counted, "what comes later is about the chain after the seal"
    second = build(await sealer.dossier(run_id), office.key)
    assert first == second
    assert first.sha256 == (await office.row(run_id))["sha256"]


async def test_a_run_of_every_ending_has_a_bundle_that_holds(office: Office, targets: Targets, tmp_path: Path) -> None:
    bench = office.bench
    run_ids = []
    targets.note.answers = [OutcomeUnknownError("reset")]
    run_ids.append((await bench.start("bench.note", {"incident": "I1", "text": "a", "api_token": "s3cret!"})).run_id)
    run_ids.append((await bench.start("bench.wait", {"case": "C9"})).run_id)
    run_ids.append((await bench.start("bench.file", FILE, ref="rejected")).run_id)
    await bench.settle()
    assert (await bench.click("ann", await bench.approval_id(), "reject", "not like this")).counted
    run_ids.append((await bench.start("bench.file", FILE, ref="expired")).run_id)
    await bench.settle()
    await bench.later(hours=9)
    run_ids.append((await bench.start("bench.timer", {})).run_id)
    await bench.settle()
    operator = OperatorService(bench.engine.pool, bench.engine.clock, "acme")
    for kind, payload in (("bench.file", FILE), ("bench.wait", {"case": "C10"})):
        run_ids.append((await bench.start(kind, payload, ref="canceled")).run_id)
        await bench.settle()
        await operator.cancel("omar", run_ids[-1], "not needed", None)
        await bench.settle()
    await bench.later(days=15)
    for run_id in run_ids:
        row = await office.row(run_id)
        assert row["sha256"], run_id
        bundle = office.bundle(row, tmp_path)
        assert verify(bundle, office.public).run_id == run_id
        assert b"s3cret!" not in bundle.read_bytes()
        told = canonical.loads(_members(bundle)["run.json"])
        told["steps"].sort(key=lambda step: step["path"])  # they stand in the order of the first word about each
        assert await _as_rows_have_it(bench, run_id) == {name: told[name] for name in ("status", "steps", "waits")}


async def _as_rows_have_it(bench: Bench, run_id: str) -> dict[str, Any]:
    """Return of `run.json` what the tables say, too."""
    steps = await bench.rows(
        'SELECT path, status, error FROM steps WHERE run_id = %s ORDER BY path COLLATE "C"', run_id
    )
    waits = await bench.rows("SELECT * FROM waits WHERE run_id = %s ORDER BY created_at", run_id)
    same = ("wait_id", "step", "type", "correlation_key", "status")
    (run,) = await bench.rows("SELECT status FROM runs WHERE run_id = %s", run_id)
    return {
        "status": run["status"],
        "steps": steps,
        "waits": [
            {name: wait[name] for name in same}
            | {"opened_at": timestamp(wait["created_at"]), "deadline": timestamp(wait["deadline"])}
            | {"resolved_at": timestamp(wait["resolved_at"])}
            for wait in waits
        ],
    }


async def test_a_question_of_doubt_and_its_answer_are_in_the_bundle(
    office: Office, targets: Targets, tmp_path: Path
) -> None:
    targets.file.answers = [OutcomeUnknownError("reset")]
    run_id = await _filed(office.bench)
    await office.bench.later(minutes=6)
    question = await office.bench.approval_id("in_doubt")
    assert (await office.bench.click("omar", question, "approve", "seen in the register")).counted
    await office.bench.settle()
    bundle = office.bundle(await office.row(run_id), tmp_path)
    assert verify(bundle, office.public).run_id == run_id
    assert f"approvals/{question}.json" in _members(bundle)


async def test_a_field_that_was_forged_after_the_votes_shows_in_the_bundle(
    office: Office, targets: Targets, tmp_path: Path
) -> None:
    bench = office.bench
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    first = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, first)).counted
    await bench.meddle(
        'UPDATE effects SET fields = (fields::jsonb || \'{"text": "forged"}\')::json WHERE run_id = %s'
        " AND step = 'file'",
        run_id,
    )
    await bench.settle()
    assert (await bench.click("cat", await bench.approval_id(), "reject", "this is not the report")).counted
    await bench.settle()
    assert targets.file.calls == []
    bundle = office.bundle(await office.row(run_id), tmp_path)
    assert verify(bundle, office.public).run_id == run_id
    assert b"changed after it was approved" in bundle.read_bytes()


async def test_a_question_that_comes_of_a_lost_worker_rests_on_the_attempt_before_it(
    office: Office, targets: Targets, tmp_path: Path
) -> None:
    bench = office.bench
    targets.file.answers = [OutcomeUnknownError("reset")]
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    bench.clock.move(minutes=6)
    assert len(await bench.lease("lost")) == 1
    await bench.later(minutes=6)
    await bench.later(minutes=6)
    assert (await bench.click("omar", await bench.approval_id("in_doubt"))).counted
    await bench.settle()
    chain = await bench.chain(run_id)
    assert [leaf.data["began"] for leaf in chain if leaf.event == "effect.reclaimed"] == [False]
    assert verify(office.bundle(await office.row(run_id), tmp_path), office.public).run_id == run_id


async def test_the_act_that_recorded_a_delegation_stands_in_the_log(office: Office, tmp_path: Path) -> None:
    bench = office.bench
    assert (await delegate(bench, "ann", "sam", "compliance"))["status"] == "applied"
    run_id = (await bench.start("bench.file", FILE)).run_id
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("sam", "ben"):
        assert (await bench.click(person, approval)).counted
    await bench.settle()
    bundle = office.bundle(await office.row(run_id), tmp_path)
    report = verify(bundle, office.public)
    assert {held.rule: held.found for held in report.rules}["passkeys.logged"] == "1 act"
    assert "log/acts.json" in _members(bundle)


def _members(bundle: Path) -> dict[str, bytes]:
    with bundle.open("rb") as stream:
        return dict(unpack(stream).members)


async def test_every_member_that_is_changed_removed_or_added_is_found_and_named(office: Office, tmp_path: Path) -> None:
    run_id = await _filed(office.bench)
    members = _members(office.bundle(await office.row(run_id), tmp_path))
    forged = tmp_path / "forged.zip"
    for name in members:
        for change in ({**members, name: members[name] + b" "}, {k: v for k, v in members.items() if k != name}):
            forged.write_bytes(pack(change))
            with pytest.raises(VerificationError) as found:
                verify(forged, office.public)
            assert name in str(found.value) or name == "statement.dsse.json"
    forged.write_bytes(pack({**members, "extra.txt": b"x"}))
    with pytest.raises(VerificationError, match=r"extra\.txt"):
        verify(forged, office.public)


async def test_an_archive_that_is_away_delays_the_seal_and_loses_nothing(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "keys" / "evidence.pem"
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    away = sealer_of(bench.engine, LocalArchive(blocked / "evidence"), path)
    run_id = await _filed(replace(bench, worker=Worker(bench.engine, jobs=[away])))
    rows = await bench.rows("SELECT sha256 FROM evidence_bundles WHERE run_id = %s", run_id)
    assert rows == [{"sha256": None}]
    blocked.unlink()
    await bench.rows("UPDATE evidence_bundles SET next_try_at = clock_timestamp() RETURNING 1")
    await replace(bench, worker=Worker(bench.engine, jobs=[away])).settle()
    rows = await bench.rows("SELECT sha256 FROM evidence_bundles WHERE run_id = %s", run_id)
    assert rows[0]["sha256"]
