"""The log's sequencer: one place for each leaf, and Tessera's `fsck` finds the log whole.

Every leaf that is committed gets one place in the log, whoever writes, gives places, or dies meanwhile.

Another implementation of logs in tiles, Tessera's `fsck`, finds ours whole, and finds every fault.
"""

import asyncio
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from receipts.checkpoint import sign_checkpoint
from receipts.hashes import EMPTY, TreeHead
from receipts.tiles import data_at, tiles_between
from runtime.services.sequencer import Sequencer
from runtime.store import log_places as store
from runtime.store.run_tx import RunTx
from tests.bench import TENANT, Bench
from tests.patience import MINUTE
from tests.unit.log_sample import MemoryLog, large_log, sample_log, signer, vkey
from tools import tessera

NOTE = {"text": "a", "api_token": "t"}
ENTRIES = "SELECT first_index, count, chain, first_seq FROM log_entries WHERE tenant = %s ORDER BY first_index"

LEAVES = """
    SELECT run_id AS chain, seq, hash FROM audit_leaves
    UNION ALL SELECT 'tenant_' || tenant, seq, hash FROM tenant_leaves
"""


async def _noted(bench: Bench, count: int) -> list[str]:
    have = len(await bench.rows("SELECT 1 FROM runs"))
    started = [
        await bench.start("bench.note", {**NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        for number in range(have, have + count)
    ]
    await bench.settle()
    return [one.run_id for one in started]


async def _sequenced(bench: Bench) -> int:
    """Have all that is committed given its place; return how many leaves that were."""
    found, sequencer = 0, Sequencer(bench.engine)
    while count := await sequencer():
        found += count
    return found


async def _head(bench: Bench) -> TreeHead:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        kept = await store.lock_range(conn, TENANT)
    assert kept is not None
    return kept.head()


async def _check(bench: Bench) -> int:
    """Raise unless places have no gap, each leaf has exactly one, and the log is over them; return its size."""
    entries = await bench.rows(ENTRIES, TENANT)
    counts = [row["count"] for row in entries]
    assert [row["first_index"] for row in entries] == [0, *accumulate(counts)][: len(entries)]
    placed = [(row["chain"], row["first_seq"] + step) for row in entries for step in range(row["count"])]
    leaves = {(row["chain"], row["seq"]): row["hash"] for row in await bench.rows(LEAVES)}
    assert len(placed) == len(set(placed))
    assert set(placed) == set(leaves)
    head = await _head(bench)
    assert head == EMPTY.append(leaves[place] for place in placed).range.head()
    tiles = await bench.rows("SELECT hashes FROM log_tiles WHERE tenant = %s AND level = 0 ORDER BY number", TENANT)
    assert b"".join(row["hashes"] for row in tiles) == b"".join(leaves[place] for place in placed)
    return head.size


@asynccontextmanager
async def _unfinished(bench: Bench, run_id: str) -> AsyncIterator[None]:
    """Have a transaction on a run under way, which ends with the block."""
    async with bench.engine.run_tx(run_id) as tx:
        tx.leaf("run.looked_at", {})
        await tx.flush()
        await tx.conn.write()
        yield


async def _be_lost(bench: Bench) -> None:
    """Take what is pending, and have the connection cut."""
    async with (
        await AsyncConnection.connect(bench.superuser) as killer,
        bench.engine.pool.connection() as conn,
        conn.transaction(),
    ):
        assert await store.lock_range(conn, TENANT)
        assert await store.take_pending(conn, TENANT, 100)
        await killer.execute("SELECT pg_terminate_backend(%s)", (conn.info.backend_pid,))
        await conn.execute("SELECT 1")


async def test_every_leaf_gets_one_place(bench: Bench) -> None:
    await _noted(bench, 3)
    assert await _sequenced(bench) == await _check(bench) > 0
    assert await _sequenced(bench) == 0
    await _noted(bench, 2)
    await _sequenced(bench)
    await _check(bench)


async def test_what_is_committed_late_comes_later_and_nobody_waits_for_it(bench: Bench) -> None:
    early, late = await _noted(bench, 2)
    await _sequenced(bench)
    async with _unfinished(bench, late):
        await bench.engine.on_run(early, _look)
        assert await _sequenced(bench) == 1
    assert await _sequenced(bench) == 1
    assert [row["chain"] for row in await bench.rows(ENTRIES, TENANT)][-2:] == [early, late]
    await _check(bench)


async def test_what_is_rolled_back_has_no_place(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    await _sequenced(bench)
    with pytest.raises(ZeroDivisionError):
        async with _unfinished(bench, run_id):
            raise ZeroDivisionError
    assert await _sequenced(bench) == 0
    await _check(bench)


async def test_no_writer_waits_for_the_sequencer(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    async with bench.engine.pool.connection() as conn, conn.transaction(force_rollback=True):
        assert await store.lock_range(conn, TENANT)
        assert await store.take_pending(conn, TENANT, 100)
        await bench.engine.on_run(run_id, _look)  # commits, although the log is locked
    await _sequenced(bench)
    await _check(bench)


async def test_sequencers_at_one_moment_give_each_leaf_one_place(bench: Bench) -> None:
    await _noted(bench, 8)
    sequencers = [Sequencer(replace(bench.engine, worker=f"w{number}")) for number in range(4)]
    while sum(await asyncio.gather(*(one() for one in sequencers))):
        pass
    await _check(bench)


async def test_a_sequencer_that_is_lost_before_its_commit_has_done_nothing(bench: Bench) -> None:
    await _noted(bench, 2)
    with pytest.raises(psycopg.OperationalError):
        await _be_lost(bench)
    await _sequenced(bench)
    await _check(bench)


async def test_the_log_grows_by_what_was_committed_whatever_became_of_it_since(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    (gone,) = await bench.rows("SELECT hash FROM audit_leaves WHERE run_id = %s AND seq = 2", run_id)
    await bench.meddle("DELETE FROM audit_leaves WHERE run_id = %s AND seq = 2", run_id)
    await _sequenced(bench)
    (tile,) = await bench.rows("SELECT hashes FROM log_tiles WHERE level = 0")
    assert gone["hash"] in store.cut(tile["hashes"])


async def test_a_log_of_more_than_a_tile_has_full_ones_and_a_tile_over_them(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    while (await _check_size(bench)) < 600:
        for _ in range(60):
            await bench.engine.on_run(run_id, _look)
        await _sequenced(bench)
    await _check(bench)
    tiles = await bench.rows("SELECT level, number, length(hashes) / 32 AS width FROM log_tiles ORDER BY level, number")
    size = (await _head(bench)).size
    assert [(row["level"], row["number"], row["width"]) for row in tiles] == [
        (0, 0, 256), (0, 1, 256), (0, 2, size - 512), (1, 0, 2)
    ]  # fmt: skip


async def _check_size(bench: Bench) -> int:
    return (await _head(bench)).size


async def _look(tx: RunTx) -> None:
    tx.leaf("run.looked_at", {})


FSCK = tessera.find()
OWNER = signer("log.example/acme", 1)
SIZES = [1, 2, 255, 256, 257, 700, 66_000]

needs_tessera = pytest.mark.skipif(FSCK is None, reason="set-up found no Go to build Tessera's fsck with")


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
@needs_tessera
def test_log_of_any_size_is_whole(folder: Path, size: int) -> None:
    publish(folder, large_log(), 0, size)
    assert f"Successfully fsck'd log with size {size} " in checked(folder)


@needs_tessera
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
@needs_tessera
def test_log_that_is_not_whole_is_found(folder: Path, spoil: Callable[[Path], None]) -> None:
    publish(folder, large_log(), 0, 700)
    spoil(folder)
    said = checked(folder, workers=8)
    assert "fsck failed" in said
    assert "Successfully" not in said


@needs_tessera
def test_checkpoint_of_another_key_is_found(folder: Path) -> None:
    publish(folder, large_log(), 0, 700)
    assert "fsck failed" in checked(folder, str(vkey(signer(OWNER.name, 9))))
