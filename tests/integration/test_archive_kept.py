"""What is stored stays: in which bucket it may lie at all, for how long each is kept, and what is held."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.archive.archive import Archive, ArchiveError, UnlockedError
from evidence.archive.local import LocalArchive
from evidence.archive.retention import Retention
from evidence.archive.s3 import S3Archive
from runtime.clock import utc_now
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
from tests.integration.fault_proxy import Answer, FaultProxy, fault_proxy
from tests.integration.minio_server import MinioServer, s3_server


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
