"""What was seen of a bucket's Object Lock counts for a while; that a bucket had none does not."""

from datetime import timedelta

from runtime.clock import utc_now
from tests.integration.archive_stage import DATA, DIGEST, behind, give_default, lasts
from tests.integration.network import FaultProxy
from tests.integration.servers import MinioServer
from tests.integration.test_archive import locked, plain, proxy, server

__all__ = ["locked", "plain", "proxy", "server"]


def test_what_was_seen_of_a_lock_counts_for_a_minute(server: MinioServer, proxy: FaultProxy, locked: str) -> None:
    late, asked = timedelta(), list[str]()
    archive = behind(proxy, server, locked, None, lambda: utc_now() + late)
    proxy.fault = lambda _, path: asked.append(path) if "object-lock" in path else None
    give_default(server, locked, "GOVERNANCE", 1)
    archive.put("1", DATA, DIGEST)
    archive.put("2", DATA, DIGEST)
    assert len(asked) == 1
    give_default(server, locked, "GOVERNANCE", 7)
    late = timedelta(seconds=61)
    assert lasts(archive.put("3", DATA, DIGEST)) > 6.9
    assert len(asked) == 2


def test_a_lock_that_a_bucket_did_not_have_is_seen_at_once(server: MinioServer, proxy: FaultProxy, plain: str) -> None:
    archive, asked = behind(proxy, server, plain, None), list[str]()
    proxy.fault = lambda _, path: asked.append(path) if "object-lock" in path else None
    archive.put("1", DATA, DIGEST)
    archive.put("2", DATA, DIGEST)
    assert len(asked) == 2
