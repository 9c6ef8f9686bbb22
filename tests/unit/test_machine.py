"""How many processes run worker and sweeps: by cores and memory of the cgroup, and by PostgreSQL's connections."""

from pathlib import Path

import pytest

from countersign.parts import Role, ServeError
from countersign.processes import CONNECTIONS, Machine, count_for, pool_size, within

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
