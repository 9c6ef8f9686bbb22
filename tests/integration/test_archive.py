"""One contract for every archive, held against a folder and a real S3; then what is particular to each."""

import hashlib
import resource
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from botocore.awsrequest import AWSRequest

from evidence.archive import (
    Archive,
    ArchiveConflictError,
    ArchiveError,
    ArchiveFact,
    ArchiveNotFoundError,
    Stored,
)
from evidence.local import LocalArchive
from evidence.retention import Retention
from evidence.s3 import S3Archive
from runtime.clock import utc_now
from tests.integration.archive_stage import (
    DATA,
    DIGEST,
    NAME,
    OTHER,
    behind,
    deleted,
    facts,
    forgetful,
    give_default,
    keys,
    lasts,
    new_bucket,
    s3,
)
from tests.integration.network import Answer, FaultProxy, fault_proxy
from tests.integration.servers import MinioServer, s3_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    with s3_server(tmp_path_factory.mktemp("minio")) as server:
        yield server


@pytest.fixture
def locked(server: MinioServer) -> str:
    return new_bucket(server, "locked", locked=True)


@pytest.fixture
def plain(server: MinioServer) -> str:
    return new_bucket(server, "plain", locked=False)


@pytest.fixture(params=["folder", "bucket with lock", "bucket without lock"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    if request.param == "folder":
        return LocalArchive(tmp_path / "evidence")
    server, has_lock = request.getfixturevalue("server"), request.param == "bucket with lock"
    bucket = request.getfixturevalue("locked" if has_lock else "plain")
    return s3(server, bucket, Retention("GOVERNANCE", 1))


@pytest.fixture
def proxy(server: MinioServer) -> Iterator[FaultProxy]:
    """A proxy in front of the server."""
    with fault_proxy(server.endpoint) as proxy:
        yield proxy


# The contract


def test_what_was_put_can_be_got_and_is_described(archive: Archive) -> None:
    stored = archive.put(NAME, DATA, DIGEST)
    assert stored.sha256 == DIGEST
    assert archive.get(stored.location) == DATA
    assert archive.head(stored.location) == stored


def test_same_data_again_is_the_same_object(archive: Archive) -> None:
    assert archive.put(NAME, DATA, DIGEST) == archive.put(NAME, DATA, DIGEST)


def test_nothing_is_ever_overwritten(archive: Archive) -> None:
    stored = archive.put(NAME, DATA, DIGEST)
    with pytest.raises(ArchiveConflictError):
        archive.put(NAME, OTHER, hashlib.sha256(OTHER).hexdigest())
    assert archive.get(stored.location) == DATA


def test_of_many_that_put_at_once_one_wins_and_none_is_lost(archive: Archive) -> None:
    def put(number: int) -> Stored | None:
        data = b"%d" % (number % 2)
        try:
            return archive.put(NAME, data, hashlib.sha256(data).hexdigest())
        except ArchiveConflictError:
            return None

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(put, range(8)))
    won = {stored for stored in results if stored}
    assert len(won) == 1
    assert results.count(None) == 4


def test_data_without_its_digest_is_refused(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match="does not have the SHA-256"):
        archive.put(NAME, OTHER, DIGEST)
    assert archive.put(NAME, DATA, DIGEST).sha256 == DIGEST


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/../../x", "", "a\\b", ".x", "a b", "x?versionId=1"])
def test_name_that_is_no_plain_relative_path_is_refused(archive: Archive, name: str) -> None:
    with pytest.raises(ArchiveError, match="plain relative path"):
        archive.put(name, DATA, DIGEST)


def test_what_is_not_there_is_not_found(archive: Archive) -> None:
    location = archive.put(NAME, DATA, DIGEST).location.partition("?")[0]
    for ask in (archive.get, archive.head):
        with pytest.raises(ArchiveNotFoundError):
            ask(location.replace("run-1", "run-2"))


def test_location_outside_the_archive_is_refused(archive: Archive) -> None:
    location = archive.put(NAME, DATA, DIGEST).location
    for outside in (
        "/etc/passwd",
        "s3://other/evidence/x",
        location.replace("/evidence/", "/other/"),
        f"{location}/../x",
    ):
        with pytest.raises(ArchiveError):
            archive.get(outside)


def test_check_writes_as_often_as_wanted_and_leaves_the_archive_usable(archive: Archive) -> None:
    assert facts(archive)["writable"]
    assert facts(archive) == facts(archive)
    assert archive.put(NAME, DATA, DIGEST).sha256 == DIGEST


# A folder


def test_file_is_its_owners_to_read_and_its_sidecar_stands_beside_it(tmp_path: Path) -> None:
    stored = LocalArchive(tmp_path / "evidence").put(NAME, DATA, DIGEST)
    path = Path(stored.location)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (DATA, 0o400)
    assert stat.S_IMODE((tmp_path / "evidence").stat().st_mode) & 0o077 == 0
    assert path.with_name("run-1.zip.json").read_text() == f'{{"sha256":"{DIGEST}","size":{len(DATA)}}}'
    assert len(list(path.parent.iterdir())) == 2


def test_put_that_was_cut_off_before_the_sidecar_is_finished_by_the_next(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path)
    stored = archive.put(NAME, DATA, DIGEST)
    Path(f"{stored.location}.json").unlink()
    with pytest.raises(ArchiveNotFoundError):
        archive.head(stored.location)
    assert archive.put(NAME, DATA, DIGEST) == stored


def test_file_that_was_changed_on_disk_is_not_given_out(tmp_path: Path) -> None:
    archive = LocalArchive(tmp_path)
    stored = archive.put(NAME, DATA, DIGEST)
    Path(stored.location).unlink()
    Path(stored.location).write_bytes(OTHER)
    with pytest.raises(ArchiveError, match="is not what was stored"):
        archive.get(stored.location)
    Path(f"{stored.location}.json").unlink()
    Path(f"{stored.location}.json").write_bytes(b"{}")
    with pytest.raises(ArchiveError, match="is damaged"):
        archive.head(stored.location)


def test_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    archive = LocalArchive(tmp_path / "file" / "evidence")
    assert facts(archive) == {"writable": False}
    with pytest.raises(ArchiveError, match="cannot be written"):
        archive.put(NAME, DATA, DIGEST)


# A bucket


def test_object_carries_its_digest_and_the_checksum_of_the_server(server: MinioServer, locked: str) -> None:
    stored = s3(server, locked).put(NAME, DATA, DIGEST)
    answer = server.client().head_object(Bucket=locked, Key=f"evidence/{NAME}", ChecksumMode="ENABLED")
    assert answer["Metadata"] == {"sha256": DIGEST}
    assert answer["ChecksumSHA256"]
    assert (stored.version_id, stored.location) == (
        answer["VersionId"],
        f"s3://{locked}/evidence/{NAME}?versionId={answer['VersionId']}",
    )


def test_bundle_in_a_bucket_with_lock_cannot_be_deleted_before_its_time(server: MinioServer, locked: str) -> None:
    stored = s3(server, locked, Retention("COMPLIANCE", 7)).put(NAME, DATA, DIGEST)
    assert stored.version_id is not None
    assert stored.retention_until is not None
    assert timedelta(days=6, hours=23) < stored.retention_until - datetime.now(UTC) <= timedelta(days=7)  # noqa: TID251
    assert not deleted(server, stored, bypass=True)


UNKNOWN = {
    "404 of a gateway": Answer(404, [("Content-Type", "text/html")], b"<html>no backend</html>"),
    "404 without a body": Answer(404),
    "403": Answer(403, [], b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"),
    "503": Answer(503, [], b"<Error><Code>SlowDown</Code><Message>later</Message></Error>"),
    "500": Answer(500),
    "501": Answer(501, [], b"<Error><Code>NotImplemented</Code><Message>no</Message></Error>"),
    "200 that does not say": Answer(200, [], b"<ObjectLockConfiguration></ObjectLockConfiguration>"),
    "200 of something else": Answer(200, [], b"<html>welcome</html>"),
}


@pytest.mark.parametrize("answer", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_stored_while_it_is_not_known_whether_the_bucket_has_object_lock(
    server: MinioServer, proxy: FaultProxy, locked: str, answer: Answer
) -> None:
    archive = behind(proxy, server, locked, Retention("COMPLIANCE", 7))
    proxy.fault = lambda _, path: answer if "object-lock" in path else None
    with pytest.raises(ArchiveError, match=f"whether the bucket {locked} has Object Lock is not known"):
        archive.put(NAME, DATA, DIGEST)
    assert keys(server, locked) == []
    assert facts(archive) == {"writable": True, "written once": True, "versioned": True, "locked": False}
    proxy.fault = lambda _method, _path: None
    assert lasts(archive.put(NAME, DATA, DIGEST)) > 6.9


def test_the_doctor_finds_a_store_that_says_object_lock_and_keeps_no_retention(
    server: MinioServer, proxy: FaultProxy, locked: str
) -> None:
    archive = behind(proxy, server, locked, Retention("COMPLIANCE", 7))
    assert facts(archive)["locked"]
    proxy.bend = forgetful
    assert not facts(archive)["locked"]
    assert "shows no retention that is set" in archive.check()[-1].text


@pytest.mark.parametrize("days", [1, 7])
def test_retention_that_the_store_does_not_show_after_the_put_is_an_error(
    server: MinioServer, proxy: FaultProxy, locked: str, days: int
) -> None:
    archive = behind(proxy, server, locked, Retention("GOVERNANCE", days))
    proxy.bend = forgetful
    with pytest.raises(ArchiveError, match=r"can be deleted: its retention .* is missing"):
        archive.put(NAME, DATA, DIGEST)
    assert lasts(s3(server, locked).put(NAME, DATA, DIGEST)) > days - 0.1, "the store did have it"


def test_retention_of_a_day_that_the_store_lets_run_out_in_minutes_is_an_error(
    server: MinioServer, proxy: FaultProxy, locked: str
) -> None:
    soon = (datetime.now(UTC) + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251

    def stingy(method: str, _path: str, answer: Answer) -> Answer:
        name = "x-amz-object-lock-retain-until-date"
        kept = [(key, soon if key.lower() == name else value) for key, value in answer.headers]
        return replace(answer, headers=kept) if method == "HEAD" else answer

    archive = behind(proxy, server, locked, Retention("GOVERNANCE", 1))
    proxy.bend = stingy
    with pytest.raises(ArchiveError, match="can be deleted: its retention should last until"):
        archive.put(NAME, DATA, DIGEST)


def test_bundle_that_was_stored_without_retention_gets_it_when_it_is_put_again(
    server: MinioServer, locked: str
) -> None:
    before = s3(server, locked).put(NAME, DATA, DIGEST)
    assert before.retention_until is None
    after = s3(server, locked, Retention("COMPLIANCE", 7)).put(NAME, DATA, DIGEST)
    assert (after.location, after.sha256) == (before.location, before.sha256)
    assert lasts(after) > 6.9
    assert not deleted(server, after, bypass=True)


def test_default_retention_of_the_bucket_is_recorded(server: MinioServer, locked: str) -> None:
    give_default(server, locked, "GOVERNANCE", 3)
    assert lasts(s3(server, locked).put(NAME, DATA, DIGEST)) > 2.9


@pytest.mark.parametrize(("ours", "bucket", "days"), [(3, 7, 7), (7, 3, 7)])
def test_longer_retention_of_ours_and_the_buckets_own_holds(
    server: MinioServer, locked: str, ours: int, bucket: int, days: int
) -> None:
    give_default(server, locked, "COMPLIANCE", bucket)
    archive = s3(server, locked, Retention("GOVERNANCE", ours))
    stored = archive.put(NAME, DATA, DIGEST)
    assert days - 0.1 < lasts(stored) <= days
    answer = server.client().head_object(Bucket=locked, Key=f"evidence/{NAME}")
    assert answer["ObjectLockMode"] == "COMPLIANCE"
    assert archive.check()[3].text.endswith(f"bundles stay for {days} days (COMPLIANCE)")


def test_version_that_was_stored_is_found_behind_a_delete_marker_and_a_later_version(
    server: MinioServer, locked: str
) -> None:
    archive = s3(server, locked, Retention("GOVERNANCE", 1))
    stored = archive.put(NAME, DATA, DIGEST)
    server.client().delete_object(Bucket=locked, Key=f"evidence/{NAME}")
    assert archive.get(stored.location) == DATA
    server.client().put_object(Bucket=locked, Key=f"evidence/{NAME}", Body=OTHER)
    assert archive.get(stored.location) == DATA
    with pytest.raises(ArchiveConflictError):
        archive.put(NAME, DATA, DIGEST)


def test_object_that_others_put_under_the_name_is_a_conflict_even_if_it_claims_the_digest(
    server: MinioServer, plain: str
) -> None:
    server.client().put_object(Bucket=plain, Key=f"evidence/{NAME}", Body=OTHER, Metadata={"sha256": DIGEST})
    archive = s3(server, plain)
    with pytest.raises(ArchiveConflictError):
        archive.put(NAME, DATA, DIGEST)
    with pytest.raises(ArchiveError, match="is not what was stored"):
        archive.get(f"s3://{plain}/evidence/{NAME}")


def test_object_without_our_digest_is_not_taken_for_a_bundle(server: MinioServer, plain: str) -> None:
    server.client().put_object(Bucket=plain, Key=f"evidence/{NAME}", Body=DATA, Metadata={"sha256": "x"})
    with pytest.raises(ArchiveError, match="have no SHA-256"):
        s3(server, plain).put(NAME, DATA, DIGEST)


def test_check_says_whether_the_bucket_keeps_versions_and_is_locked(
    server: MinioServer, locked: str, plain: str
) -> None:
    archive = s3(server, locked, Retention("COMPLIANCE", 7))
    assert facts(archive) == {"writable": True, "written once": True, "versioned": True, "locked": True}
    assert archive.check()[3].text.endswith("bundles stay for 7 days (COMPLIANCE)")
    assert facts(s3(server, plain)) == {"writable": True, "written once": True, "versioned": False, "locked": False}


def test_check_finds_a_store_that_overwrites_whatever_the_condition_says(server: MinioServer, plain: str) -> None:
    def forget(request: AWSRequest, **_: object) -> None:
        del request.headers["If-None-Match"]

    client = server.client()
    client.meta.events.register("before-sign.s3.PutObject", forget)
    found = {fact.name: fact for fact in S3Archive(client, plain, "e/", None, utc_now, must_lock=False).check()}
    assert found["writable"].ok
    assert not found["written once"].ok
    assert "does not know If-None-Match" in found["written once"].text


def test_check_says_why_a_bucket_cannot_be_written_to(server: MinioServer, plain: str) -> None:
    assert facts(s3(server, "absent")) == {"writable": False}
    [fact] = s3(server, plain, password="wrong-password").check()
    assert isinstance(fact, ArchiveFact)
    assert (fact.name, fact.ok) == ("writable", False)
    assert fact.text.startswith(f"s3://{plain}/evidence/countersign-probe: ")
    with pytest.raises(ArchiveError, match="absent"):
        s3(server, "absent").put(NAME, DATA, DIGEST)


def test_server_out_of_reach_is_said(plain: str) -> None:
    nowhere = MinioServer("http://127.0.0.1:1")
    with pytest.raises(ArchiveError, match=f"whether the bucket {plain} has Object Lock is not known"):
        s3(nowhere, plain).put(NAME, DATA, DIGEST)


def test_store_that_does_not_know_an_order_is_not_taken_for_one_that_has_nothing(
    server: MinioServer, proxy: FaultProxy, locked: str
) -> None:
    archive = behind(proxy, server, locked, Retention("GOVERNANCE", 1))
    stored = archive.put(NAME, DATA, DIGEST)
    proxy.fault = lambda _method, _path: UNKNOWN["501"]
    for ask in (
        lambda: archive.head(stored.location),
        lambda: archive.get(stored.location),
        archive.check_lock,
    ):
        with pytest.raises(ArchiveError) as refused:
            ask()
        assert not isinstance(refused.value, ArchiveNotFoundError)
    assert facts(archive) == {"writable": False}


def test_a_folder_on_a_disk_without_room_cannot_be_written(tmp_path: Path) -> None:
    archive, limits = LocalArchive(tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    assert facts(archive)["writable"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # files may be made, and hold nothing
    try:
        assert not facts(archive)["writable"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())
