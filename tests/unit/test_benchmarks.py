"""The benchmark's parts: whose packages the peers are."""

from benchmarks import peers


def test_the_peers_packages_are_those_of_the_peers_lock_file() -> None:
    locked = peers.LOCK.read_text(encoding="utf-8")
    assert "\ndbos==" in locked
    assert "\nrestate-sdk==" in locked
