"""The demo, as a newcomer runs it: a process of its own, from nothing to verified evidence."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    home = tmp_path_factory.mktemp("demo")
    env = {**os.environ, "COUNTERSIGN_HOME": str(home)}
    command = [sys.executable, "-m", "countersign", "demo"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False), home


def _last_lines(played: tuple[subprocess.CompletedProcess[str], Path]) -> dict[str, str]:
    lines = played[0].stdout.splitlines()[-3:]
    return dict(line.split(": ", 1) for line in lines)


def test_the_demo_plays_to_its_end(played: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    assert played[0].returncode == 0, played[0].stdout + played[0].stderr


@pytest.mark.parametrize(
    "told",
    [
        "rejects: The share register is from 2019",
        "is of another company",
        "is a guest",
        "asked for it herself",
        "the worker is gone while the run is parked",
        "the report was filed, once",
        "verifies it offline",
        "changes one byte",
    ],
)
def test_the_timeline_tells(played: tuple[subprocess.CompletedProcess[str], Path], told: str) -> None:
    assert told in played[0].stdout


def test_it_ends_with_digest_bundle_and_key_and_leaves_both_files(
    played: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    told = _last_lines(played)
    assert list(told) == ["sha256", "bundle", "key"]
    assert hashlib.sha256(Path(told["bundle"]).read_bytes()).hexdigest() == told["sha256"]
    assert Path(told["key"]).read_text().startswith("-----BEGIN PUBLIC KEY-----")


def test_what_it_leaves_verifies_from_the_command_line(
    played: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    told = _last_lines(played)
    command = [sys.executable, "-m", "countersign", "evidence", "verify", told["bundle"], "--key", told["key"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert told["sha256"] in done.stdout


def test_it_leaves_no_process_behind(played: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    home = str(played[1])
    lines = [
        path.read_bytes().decode(errors="replace") for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)
    ]
    assert [line for line in lines if home in line] == []


def _readable(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True
