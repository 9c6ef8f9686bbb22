"""Processes: how many, their parts, their ports, and long work at set-up.

How many processes run worker and sweeps: by cores and memory of the cgroup, and by PostgreSQL's connections.

The parts of a process end together, within a bound, and what ended by itself is named.

Ports that are given to servers: each once, from when it is given, and not only from when somebody listens.

Long work at set-up: progress is shown, nothing is left running, one process at a time.
"""

import asyncio
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from countersign.embedded import ports
from countersign.embedded.work import one_at_a_time, run_watched
from countersign.logs import formatter
from countersign.parts import Part, Patience, Role, ServeError, listen, run_parts
from countersign.processes import CONNECTIONS, Machine, count_for, pool_size, within
from tests.patience import MINUTE

MIB = 1024**2
WORK = {Role.WORKER, Role.SWEEPS}
POSTGRES = 97
"""PostgreSQL's connections for those who are no superusers, if nothing else is set."""


def files(folder: Path, **texts: str) -> Path:
    """Write files of a cgroup, of which two underscores stand for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n", encoding="ascii")
    return folder


@pytest.mark.parametrize(
    ("quota", "memory", "expected"),
    [
        ("100000 100000", str(512 * MIB), Machine(1, 512 * MIB)),
        ("150000 100000", "max", Machine(2, None)),
        ("1600000 100000", str(MIB), Machine(16, MIB)),
        ("5000 100000", "max", Machine(1, None)),
        ("max 100000", "max", Machine(3, None)),
    ],
)
def test_limits_are_those_of_the_cgroup(tmp_path: Path, quota: str, memory: str, expected: Machine) -> None:
    files(tmp_path, cpu__max=quota, memory__max=memory)
    assert within(tmp_path, "0::/\n", 3) == expected


def test_the_tightest_limit_among_a_cgroup_and_those_above_it_holds(tmp_path: Path) -> None:
    files(tmp_path / "ours", cpu__max="400000 100000", memory__max=str(300 * MIB))
    files(tmp_path / "ours/one", cpu__max="max 100000", memory__max=str(900 * MIB))
    assert within(tmp_path, "0::/ours/one\n", 8) == Machine(4, 300 * MIB)
    assert within(tmp_path, "0::/others\n", 8) == Machine(8, None)


def test_limits_of_version_1_hold_too(tmp_path: Path) -> None:
    files(tmp_path / "cpu/docker/x", cpu__cfs_quota_us="200000", cpu__cfs_period_us="100000")
    files(tmp_path / "memory", memory__limit_in_bytes=str(700 * MIB))
    membership = "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n"
    assert within(tmp_path, membership, 8) == Machine(2, 700 * MIB)
    files(tmp_path / "cpu/docker/x", cpu__cfs_quota_us="-1")
    files(tmp_path / "memory", memory__limit_in_bytes="9223372036854771712")
    assert within(tmp_path, membership, 8) == Machine(8, None)


def test_a_machine_without_cgroups_has_its_cores_and_no_limit(tmp_path: Path) -> None:
    assert within(tmp_path / "absent", "", 5) == Machine(5, None)


@pytest.mark.parametrize(
    ("cores", "mebibytes", "count"),
    [(1, 512, 1), (4, 512, 2), (16, 512, 2), (16, 128, 1), (4, 4096, 4), (2, None, 2), (64, None, 10)],
)
def test_as_many_processes_run_as_cores_memory_and_connections_allow(
    cores: int, mebibytes: int | None, count: int
) -> None:
    assert count_for(WORK, None, Machine(cores, mebibytes * MIB if mebibytes else None)) == count


def test_who_is_told_how_many_processes_to_run_runs_so_many() -> None:
    assert count_for(WORK, 12, Machine(1, MIB)) == 12


def test_what_people_and_callers_reach_is_one_process() -> None:
    large = Machine(16, None)
    assert count_for(set(Role), None, large) == 1
    assert count_for({Role.EDGE}, 1, large) == 1
    with pytest.raises(ServeError, match="run worker and sweeps separately"):
        count_for({Role.WORKER, Role.BOT}, 2, large)


@pytest.mark.parametrize("cores", range(1, 65))
def test_two_machines_with_workers_and_a_front_fit_into_postgresqls_connections(cores: int) -> None:
    count = count_for(WORK, None, Machine(cores, None))
    of_one = count * (pool_size(count) + 1)
    assert of_one <= CONNECTIONS
    assert 2 * of_one + pool_size(1) + 1 <= POSTGRES


CANARY = "canary-c40e"
PATIENCE = Patience(stop=MINUTE, cut_off=MINUTE)
SOON = 0.05


async def test_a_part_that_fails_ends_the_others_and_the_process_says_which(caplog: pytest.LogCaptureFixture) -> None:
    ending, ended = asyncio.Event(), asyncio.Event()

    async def fails() -> None:
        raise ValueError(f"first line\n{CANARY}")

    async def drains() -> None:
        await ending.wait()
        ended.set()

    parts = [Part("failing", fails), Part("draining", drains, ending.set), Part("waiting", asyncio.Event().wait)]
    with pytest.raises(ServeError, match="failing ended by itself"):
        await run_parts(parts, asyncio.Event(), PATIENCE)
    assert ended.is_set()
    (said,) = [formatter("json").format(record) for record in caplog.records if record.levelname == "ERROR"]
    assert "failing ended by itself" in said
    assert "ValueError: first line" in said
    assert CANARY not in said


async def test_a_part_that_returns_early_ends_the_process_too() -> None:
    async def returns() -> None:
        return

    with pytest.raises(ServeError, match="returning ended by itself"):
        await run_parts([Part("returning", returns)], asyncio.Event(), PATIENCE)


async def test_a_part_that_fails_at_its_end_is_not_passed_over() -> None:
    ending, stop = asyncio.Event(), asyncio.Event()

    async def fails_at_its_end() -> None:
        await ending.wait()
        raise ValueError("not everything was finished")

    stop.set()
    with pytest.raises(ServeError, match="draining ended by itself"):
        await run_parts([Part("draining", fails_at_its_end, ending.set)], stop, PATIENCE)


async def test_a_part_that_is_cut_off_for_too_long_ends_the_process() -> None:
    parts = [Part("socket mode", asyncio.Event().wait, is_connected=lambda: False)]
    with pytest.raises(ServeError, match=r"socket mode could not connect for 0\.05 s"):
        await run_parts(parts, asyncio.Event(), Patience(stop=MINUTE, cut_off=SOON))


async def test_a_part_that_comes_back_in_time_stays() -> None:
    looks, stop = iter([False, True] * 10), asyncio.Event()

    def is_connected() -> bool:
        found = next(looks, None)
        if found is None:
            stop.set()
        return bool(found)

    parts = [Part("socket mode", asyncio.Event().wait, is_connected=is_connected)]
    await run_parts(parts, stop, Patience(stop=MINUTE, cut_off=SOON))


async def test_what_hangs_at_the_end_is_named_and_left() -> None:
    stop, never = asyncio.Event(), asyncio.Event()

    async def hangs() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await never.wait()
                return

    stop.set()
    with pytest.raises(ServeError, match=r"hanging did not end within 0\.05 s and was abandoned"):
        await run_parts([Part("hanging", hangs)], stop, Patience(stop=SOON, cut_off=MINUTE))
    never.set()


def test_connections_send_an_answer_at_once_although_it_is_in_two_pieces() -> None:
    with (
        listen("127.0.0.1", 0, "name another") as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_port_that_cannot_be_had_is_refused_with_the_remedy() -> None:
    with listen("127.0.0.1", 0, "name another") as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ServeError, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use; name"):
            listen("127.0.0.1", port, "name another with --listen")


NEXT_OF_ANOTHER = """
import sys
from itertools import count
from countersign.embedded import ports
ports._next = count(ports._OURS.index(int(sys.argv[1])))
print(ports.free_port())
"""


@pytest.fixture
def given() -> int:
    return ports.free_port()


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch, given: int) -> None:
    """Have this process look where it found one."""
    monkeypatch.setattr(ports, "_next", count(ports._OURS.index(given)))


@pytest.mark.usefixtures("again")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port that is kept could not be listened on")
def test_a_port_that_was_given_is_not_given_again_before_its_server_listens(given: int) -> None:
    assert ports.free_port() != given


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port that is kept could not be listened on")
def test_another_program_is_not_given_it(given: int) -> None:
    found = subprocess.run(
        [sys.executable, "-c", NEXT_OF_ANOTHER, str(given)], capture_output=True, check=True, text=True
    )
    assert int(found.stdout) != given


@pytest.mark.usefixtures("again")
def test_one_server_listens_on_it_and_may_be_started_again(given: int) -> None:
    for _ in range(2):
        with socket.create_server(("127.0.0.1", given)):
            with pytest.raises(OSError, match="in use"):
                socket.create_server(("127.0.0.1", given))
            assert ports.free_port() != given


def test_nobody_answers_there_before(given: int) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", given))


ROOT = Path(__file__).resolve().parents[2]

# Writes a line, then waits until somebody makes the file that it is told of.
WAITS = "import pathlib, sys\nprint('one', flush=True)\nwhile not pathlib.Path(sys.argv[1]).exists(): pass"


def _silent(_line: str) -> None:
    """Report to nobody."""


def _python(*arguments: str | Path) -> list[str | Path]:
    return [sys.executable, "-c", *arguments]


def test_progress_is_reported_while_the_command_runs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    reports: list[str] = []

    def report(line: str) -> None:
        reports.append(line)
        if "1 lines" in line:
            go.touch()

    progress = lambda output: f"{len(output.splitlines())} lines"  # noqa: E731 - one line says it
    finished = run_watched(_python(WAITS, go), progress=progress, report=report, every=0.02)
    assert finished.code == 0
    assert reports[-1].startswith("  1 lines, ")


def test_failure_comes_back_with_the_last_words() -> None:
    program = "import sys; [print(n) for n in range(50)]; sys.exit(3)"
    finished = run_watched(_python(program), progress=str, report=_silent)
    assert finished.code == 3
    assert finished.last_words(2) == "48\n49"


def test_interrupted_command_is_not_left_running(tmp_path: Path) -> None:
    program = f"import os, pathlib; pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n{WAITS}"

    def interrupt(_line: str) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_watched(_python(program, tmp_path / "never"), progress=str, report=interrupt, every=0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_second_set_up_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    said = threading.Event()
    order: list[str] = []

    def second() -> None:
        with one_at_a_time(tmp_path, lambda _line: said.set()):
            order.append("second")

    thread = threading.Thread(target=second)
    with one_at_a_time(tmp_path, order.append):
        thread.start()
        assert said.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_command_of_a_killed_set_up_keeps_the_lock_until_it_ends(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys\n"
        "from countersign.embedded.work import one_at_a_time, run_watched\n"
        "def die(line): os.kill(os.getpid(), signal.SIGKILL)\n"
        "with one_at_a_time(pathlib.Path(sys.argv[1]), print):\n"
        "    run_watched([sys.executable, '-c', *sys.argv[2:]], progress=str, report=die, every=0.02)\n"
    )
    go = tmp_path / "go"
    killed = subprocess.run(_python(program, tmp_path, WAITS, go), cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        go.touch()
        fcntl.flock(handle, fcntl.LOCK_EX)
    finally:
        go.touch()
        os.close(handle)


def test_lock_falls_when_set_up_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), one_at_a_time(tmp_path, _silent):
        raise ValueError("broken")
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)


def test_a_set_up_that_waits_long_says_so_again(tmp_path: Path) -> None:
    said = threading.Event()

    def second() -> None:
        with one_at_a_time(tmp_path, lambda line: said.set() if "still waiting" in line else None, every=0.1):
            pass

    thread = threading.Thread(target=second)
    with one_at_a_time(tmp_path, _silent):
        thread.start()
        assert said.wait(10)
    thread.join(10)
