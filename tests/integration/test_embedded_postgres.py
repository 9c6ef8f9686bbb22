"""The embedded PostgreSQL outlives whoever is killed, and ends with whoever takes it on."""

import subprocess
import sys
from pathlib import Path

import psycopg

from countersign.embedded.postgres import embedded_postgres

HOLDS = """
import sys
from pathlib import Path
from countersign.embedded.postgres import embedded_postgres
with embedded_postgres(Path(sys.argv[1])):
    print("holds it", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_running_is_taken_on_and_stopped_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout
        assert killed.stdout.readline() == b"holds it\n"
        killed.kill()
    left = _postmaster(folder)
    with embedded_postgres(folder) as dsn, psycopg.connect(dsn) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
        assert _postmaster(folder) == left
    assert _postmaster(folder) is None


def _postmaster(folder: Path) -> str | None:
    """Return the id of the server's process, None where it was stopped."""
    file = folder / "postmaster.pid"
    return file.read_text(encoding="utf-8").splitlines()[0] if file.exists() else None
