"""Stored bundles: stuck ones are tried anew by somebody, and stored ones stay.

Bundles that trying again cannot help: they are stuck, operators are told, and somebody has them tried anew.

What is stored stays: in which bucket it may lie at all, for how long each is kept, and what is held.
"""

import asyncio
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.doctor.evidence import evidence
from evidence.archive import Archive, ArchiveError, UnlockedError
from evidence.local import LocalArchive
from evidence.retention import Retention
from evidence.s3 import S3Archive
from evidence.verify.verify import verify
from receipts.signing import public_path
from runtime.clock import utc_now
from runtime.inbox import inbox
from runtime.services.operator import OperatorService
from runtime.services.people import UnknownPersonError
from runtime.services.sealing import MOST_FAULTS
from tests.bench import TENANT, Bench
from tests.integration.archive_stage import (
    DATA,
    DIGEST,
    NAME,
    OTHER,
    behind,
    deleted,
    give_default,
    keys,
    lasts,
    new_bucket,
    s3,
)
from tests.integration.evidence_stage import SealingOffice, noted, open_office
from tests.integration.network import Answer, FaultProxy, fault_proxy
from tests.integration.program_stage import command, environment
from tests.integration.servers import MinioServer, s3_server
from tests.patience import until

WAYS = ("post_message", "direct_message")
ANOTHER = b"another history"


@pytest.fixture
def office(bench: Bench, tmp_path: Path, dsn: str) -> SealingOffice:
    return open_office(bench, tmp_path, dsn)


def taken(office: SealingOffice, run_id: str) -> Path:
    """Put something else under the name of the run's bundle."""
    office.folder.mkdir(exist_ok=True)
    path = office.folder / f"{run_id}.zip"
    path.write_bytes(ANOTHER)
    return path


async def repaired(office: SealingOffice, run_id: str, by: str = "omar") -> Mapping[str, Any]:
    bench = office.bench
    desk = OperatorService(bench.engine.pool, bench.clock, TENANT)
    return await inbox.apply(bench.engine, await desk.retry_bundle(by, run_id, "the way is clear"))


async def leaf(office: SealingOffice, run_id: str, event: str) -> dict[str, Any]:
    query = "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = %s"
    (row,) = await office.bench.rows(query, run_id, event)
    return dict(row["leaf"])


async def test_bundle_whose_name_is_taken_is_stuck_at_once_and_everybody_who_looks_is_told(
    office: SealingOffice,
) -> None:
    run_id = await noted(office.bench)
    there = taken(office, run_id)
    assert await office.sealer() == 0
    await office.due()
    assert await office.sealer() == 0, "it is not tried again"
    row = await office.row(run_id)
    assert (row["status"], row["tries"], row["in_the_way"]) == ("stuck", 1, str(there))
    assert (await leaf(office, run_id, "evidence.stuck"))["data"]["in_the_way"] == str(there)
    assert (await office.listed())[run_id].startswith(f"stuck: {there} already holds something else; once ")
    [fact, *_] = await evidence(office.settings, utc_now)
    assert (fact.ok, fact.remedy != "") == (False, True)
    assert fact.detail.startswith(f"1 stuck or overdue: {run_id} (stuck: {there} already holds something else")


async def test_operators_are_told_once_of_a_stuck_bundle_and_what_to_do(office: SealingOffice) -> None:
    run_id = await noted(office.bench)
    there = taken(office, run_id)
    await office.sealer()
    await office.bench.settle()
    chat = office.bench.chat
    told = [(one.get("channel") or one["user"], one["text"]) for name in WAYS for one in chat.said(name)]
    said = f"The evidence of One note (1) cannot be stored: {there} already holds something else."
    todo = f"Once this is fixed, run: countersign evidence retry {run_id}"
    expected = [(who, f"{said} {todo}") for who in ("C0APPROVALS", "UOMAR")]
    assert [one for one in told if "evidence" in one[1]] == expected


async def test_after_a_conflict_the_bundle_is_stored_under_a_name_of_its_own_and_what_stood_there_is_kept_and_named(
    office: SealingOffice,
) -> None:
    run_id = await noted(office.bench)
    there = taken(office, run_id)
    await office.sealer()
    assert await repaired(office, run_id) == {
        "status": "applied",
        "run_id": run_id,
        "file_number": 2,
        "in_the_way": str(there),
    }
    assert await office.sealer() == 1
    row = await office.row(run_id)
    assert (row["status"], Path(row["location"]).name) == ("stored", f"{run_id}.2.zip")
    assert verify(Path(row["location"]), public_path(office.settings.key_path)).run_id == run_id
    assert (office.folder / f"{run_id}.2.sigstore.json").exists()
    assert there.read_bytes() == ANOTHER
    act = await leaf(office, run_id, "evidence.repaired")
    assert act["actor"] == {"id": "omar", "kind": "person"}
    assert act["data"] == {"reason": "the way is clear", "file_number": 2, "in_the_way": str(there)}


async def test_records_that_make_no_bundle_are_stuck_at_once_and_sealed_when_they_are_mended(
    office: SealingOffice,
) -> None:
    run_id = await noted(office.bench)
    change = (
        "UPDATE receipts SET document = jsonb_set(document::jsonb, '{receipt_id}', %s::jsonb)::json"
        " WHERE seq = (SELECT min(seq) FROM receipts)"
    )
    (receipt, *_) = await office.bench.rows("SELECT receipt_id FROM receipts ORDER BY seq")
    await office.bench.meddle(change, '"../x"')
    assert await office.sealer() == 0
    row = await office.row(run_id)
    assert (row["status"], row["in_the_way"]) == ("stuck", None)
    assert "'../x' is not an identifier" in row["error"]
    await office.bench.meddle(change, f'"{receipt["receipt_id"]}"')
    assert (await repaired(office, run_id))["file_number"] == 1
    assert await office.sealer() == 1
    assert Path((await office.row(run_id))["location"]).name == f"{run_id}.zip"


async def test_fault_of_our_own_is_tried_so_often_and_then_stuck(office: SealingOffice) -> None:
    run_id = await noted(office.bench)
    broken: Any = object()
    for faults in range(1, MOST_FAULTS + 1):
        assert await replace(office.sealer, archive=broken)() == 0
        assert ((await office.row(run_id))["status"] == "stuck") == (faults == MOST_FAULTS)
        await office.due()
    row = await office.row(run_id)
    assert (row["status"], row["tries"], row["faults"]) == ("stuck", MOST_FAULTS, MOST_FAULTS)
    assert "AttributeError" in row["error"]
    await repaired(office, run_id)
    row = await office.row(run_id)
    assert (row["status"], row["tries"], row["faults"]) == ("sealing", 0, 0)
    assert await office.sealer() == 1


async def test_stuck_bundle_holds_up_no_other(office: SealingOffice) -> None:
    stuck = await noted(office.bench)
    taken(office, stuck)
    await office.sealer()
    other = await noted(office.bench, "2")
    assert await office.sealer() == 1
    assert (await office.row(other))["status"] == "stored"


async def test_run_whose_bundle_cannot_even_begin_holds_up_no_other_and_is_tried_again(
    office: SealingOffice, caplog: pytest.LogCaptureFixture
) -> None:
    bench, sealer = office.bench, office.sealer
    broken, sound = await noted(bench), await noted(bench, "2")
    more = (
        "INSERT INTO audit_leaves SELECT run_id, audit_seq + 1, hash, leaf FROM runs JOIN audit_leaves USING (run_id)"
    )
    await bench.meddle(f"{more} WHERE run_id = %s AND seq = audit_seq", broken)
    assert await sealer() == 1
    assert (await office.row(sound))["status"] == "stored"
    assert f"the bundle of {broken} cannot begin" in caplog.text
    assert (await office.listed())[broken] == "not sealed: no worker has claimed it yet"
    await bench.meddle("DELETE FROM audit_leaves a USING runs r WHERE r.run_id = a.run_id AND seq > audit_seq")
    assert await sealer() == 0, "it is left alone for a while"
    bench.clock.move(minutes=16)
    assert await sealer() == 1
    assert (await office.row(broken))["status"] == "stored"


async def test_only_what_is_stuck_is_repaired_and_only_by_a_person_of_the_directory(office: SealingOffice) -> None:
    run_id = await noted(office.bench)
    assert await office.sealer() == 1
    assert await repaired(office, run_id) == {"status": "stale", "reason": f"the bundle of {run_id} is not stuck"}
    assert (await repaired(office, "run_0"))["reason"] == "there is no run run_0"
    with pytest.raises(UnknownPersonError):
        await repaired(office, run_id, by="mallory")


async def test_repair_from_the_command_line_is_on_record_and_done_by_a_worker(office: SealingOffice) -> None:
    run_id = await noted(office.bench)
    taken(office, run_id)
    await office.sealer()
    words = ["evidence", "retry", run_id, "--as", "omar", "--reason", "moved"]
    acting = asyncio.create_task(command(*words, env=environment(office.settings)))
    recorded = "SELECT notification_id FROM notifications WHERE kind = 'retry_bundle'"
    await until(lambda: office.bench.rows(recorded))
    (letter,) = await office.bench.rows(recorded)
    await inbox.apply(office.bench.engine, letter["notification_id"])
    assert (await acting).out == f"the bundle of {run_id} will be retried\n"
    assert (await office.row(run_id))["status"] == "sealing"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def locked(server: MinioServer) -> str:
    return new_bucket(server, "locked", locked=True)


@pytest.fixture
def plain(server: MinioServer) -> str:
    return new_bucket(server, "plain", locked=False)


@pytest.fixture
def proxy(server: MinioServer) -> Iterator[FaultProxy]:
    """A proxy in front of the server."""
    with fault_proxy(server.endpoint) as proxy:
        yield proxy


# What must be locked


def test_nothing_is_stored_in_a_bucket_without_lock_where_one_is_required(server: MinioServer, plain: str) -> None:
    archive = S3Archive(server.client(), plain, "evidence/", Retention("GOVERNANCE", 1), utc_now)
    for attempt in (lambda: archive.put(NAME, DATA, DIGEST), lambda: archive.replace(NAME, DATA), archive.check_lock):
        with pytest.raises(UnlockedError, match=f"the bucket {plain} has no Object Lock"):
            attempt()
    assert keys(server, plain) == []


def test_bucket_that_is_not_there_is_not_said_to_have_no_lock(server: MinioServer) -> None:
    with pytest.raises(ArchiveError) as refused:
        s3(server, "absent").check_lock()
    assert not isinstance(refused.value, UnlockedError)


# How long each is kept


def test_retention_that_a_definition_wants_takes_the_place_of_the_settings(server: MinioServer, locked: str) -> None:
    archive = s3(server, locked, Retention("GOVERNANCE", 7))
    assert 2.9 < lasts(archive.put("a.zip", DATA, DIGEST, 3)) <= 3
    assert 29.9 < lasts(archive.put("b.zip", DATA, DIGEST, 30)) <= 30
    assert 6.9 < lasts(archive.put("c.zip", DATA, DIGEST)) <= 7


def test_default_of_the_bucket_holds_where_a_definition_wants_less(server: MinioServer, locked: str) -> None:
    give_default(server, locked, "GOVERNANCE", 5)
    assert lasts(s3(server, locked, Retention("GOVERNANCE", 7)).put(NAME, DATA, DIGEST, 3)) > 4.9


# Legal holds


def test_what_is_held_in_a_bucket_cannot_be_deleted_until_it_is_released(server: MinioServer, locked: str) -> None:
    archive = s3(server, locked)
    stored = archive.put(NAME, DATA, DIGEST)
    for _ in range(2):
        archive.set_hold(stored.location, on=True)
    assert not deleted(server, stored, bypass=True)
    assert archive.get(stored.location) == DATA
    for _ in range(2):
        archive.set_hold(stored.location, on=False)
    assert deleted(server, stored, bypass=False)


def test_hold_is_on_the_version_that_was_stored_whatever_hides_it(server: MinioServer, locked: str) -> None:
    archive = s3(server, locked)
    stored = archive.put(NAME, DATA, DIGEST)
    server.client().put_object(Bucket=locked, Key=f"evidence/{NAME}", Body=OTHER)
    archive.set_hold(stored.location, on=True)
    assert not deleted(server, stored, bypass=False)
    archive.set_hold(stored.location, on=False)


def test_hold_that_the_store_does_not_show_afterwards_is_an_error(
    server: MinioServer, proxy: FaultProxy, locked: str
) -> None:
    archive = behind(proxy, server, locked, None)
    stored = archive.put(NAME, DATA, DIGEST)
    off = Answer(200, [], b"<LegalHold><Status>OFF</Status></LegalHold>")
    proxy.fault = lambda method, path: off if method == "GET" and "legal-hold" in path else None
    with pytest.raises(ArchiveError, match="its legal hold should be ON and is OFF"):
        archive.set_hold(stored.location, on=True)
    proxy.fault = lambda _method, _path: None
    archive.set_hold(stored.location, on=False)


def test_nothing_can_be_held_in_a_bucket_without_lock(server: MinioServer, plain: str) -> None:
    archive = s3(server, plain)
    stored = archive.put(NAME, DATA, DIGEST)
    with pytest.raises(UnlockedError, match="has no Object Lock: whatever is in it can be deleted"):
        archive.check_lock()
    with pytest.raises(ArchiveError, match="cannot be held"):
        archive.set_hold(stored.location, on=True)


def test_what_is_held_in_a_folder_outlives_its_name(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path / "evidence")
    archive.check_lock()
    stored = archive.put(NAME, DATA, DIGEST)
    kept = tmp_path / "evidence/held" / NAME
    for _ in range(2):
        archive.set_hold(stored.location, on=True)
    Path(stored.location).unlink()
    assert (kept.read_bytes(), stat.S_IMODE(kept.stat().st_mode)) == (DATA, 0o400)
    for _ in range(2):
        archive.set_hold(stored.location, on=False)
    assert not kept.exists()


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_only_what_is_there_and_of_the_archive_is_held(
    server: MinioServer, locked: str, tmp_path: Path, kind: str
) -> None:
    archive: Archive = s3(server, locked) if kind == "bucket" else LocalArchive(tmp_path / "evidence")
    location = archive.put(NAME, DATA, DIGEST).location.partition("?")[0]
    for other in (location.replace("run-1", "run-2"), "/etc/passwd", f"{location}/../x"):
        with pytest.raises(ArchiveError):
            archive.set_hold(other, on=True)
