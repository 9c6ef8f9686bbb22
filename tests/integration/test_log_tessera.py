"""Another implementation of logs in tiles, Tessera's `fsck`, finds ours whole, and finds every fault."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from receipts.log.checkpoint import sign_checkpoint
from receipts.log.hashes import TreeHead
from receipts.log.tiles import data_at, tiles_between
from tests.patience import MINUTE
from tests.unit.log_sample import MemoryLog, large_log, sample_log, signer, vkey
from tools import tessera

FSCK = tessera.find()
OWNER = signer("log.example/acme", 1)
SIZES = [1, 2, 255, 256, 257, 700, 66_000]

pytestmark = pytest.mark.skipif(FSCK is None, reason="set-up found no Go to build Tessera's fsck with")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP; give its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def publish(folder: Path, log: MemoryLog, old: int, new: int) -> None:
    """Write what a log that grows must have, and its checkpoint last."""
    for place in tiles_between(old, new):
        file = folder / place.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data_at(place, log.node, lambda begin, end: log.entries[begin:end]))
    (folder / "checkpoint").write_bytes(bytes(log.checkpoint(OWNER, new)))


def checked(folder: Path, key: str = str(vkey(OWNER)), workers: int = 1) -> str:
    """Return what fsck says; its exit status is 0 whatever it finds.

    A worker of it that finds a fault ends, and when none is left it waits for ever: where there are faults it has more
    workers than there are tiles.
    """
    assert FSCK is not None
    key_file = folder.with_name("log.vkey")
    key_file.write_text(key, encoding="utf-8")
    with served(folder) as url:
        finished = subprocess.run(
            [FSCK, "--ui=false", f"--N={workers}", f"--storage_url={url}", f"--public_key={key_file}"],
            capture_output=True,
            timeout=MINUTE,
            check=True,
        )
    return finished.stderr.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("size", SIZES)
def test_log_of_any_size_is_whole(folder: Path, size: int) -> None:
    publish(folder, large_log(), 0, size)
    assert f"Successfully fsck'd log with size {size} " in checked(folder)


def test_log_that_grew_in_steps_is_whole_at_each(folder: Path) -> None:
    before = 0
    for size in (3, 256, 300, 700):
        publish(folder, large_log(), before, size)
        assert f"Successfully fsck'd log with size {size} " in checked(folder)
        before = size


def _entry_changed(folder: Path) -> None:
    file = folder / "tile/entries/001"
    file.write_bytes(file.read_bytes().replace(b"entry 300", b"entry 301"))


def _hash_changed(folder: Path) -> None:
    file = folder / "tile/1/000.p/2"
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def _tile_lost(folder: Path) -> None:
    (folder / "tile/0/002.p/188").unlink()


def _root_of_another_log(folder: Path) -> None:
    root = sample_log(1, salt="another ").head(1).root
    (folder / "checkpoint").write_bytes(bytes(sign_checkpoint(OWNER, TreeHead(700, root))))


@pytest.mark.parametrize("spoil", [_entry_changed, _hash_changed, _tile_lost, _root_of_another_log])
def test_log_that_is_not_whole_is_found(folder: Path, spoil: Callable[[Path], None]) -> None:
    publish(folder, large_log(), 0, 700)
    spoil(folder)
    said = checked(folder, workers=8)
    assert "fsck failed" in said
    assert "Successfully" not in said


def test_checkpoint_of_another_key_is_found(folder: Path) -> None:
    publish(folder, large_log(), 0, 700)
    assert "fsck failed" in checked(folder, str(vkey(signer(OWNER.name, 9))))
