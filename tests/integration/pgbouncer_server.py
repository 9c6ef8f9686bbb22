"""A real PgBouncer for tests, in front of the tests' PostgreSQL, sharing connections out by transaction."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

from countersign.embedded.ports import free_port
from tests.logins import DIRECTORY, PROGRAM
from tests.patience import MINUTE
from tools.debian import PGBOUNCER, find

CONFIG = """
[databases]
* = host={socket} port=5432
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 3
server_round_robin = 1
server_login_retry = 1
logfile = {folder}/pgbouncer.log
"""


@contextmanager
def pgbouncer_server(postgres: str) -> Iterator[str]:
    """Run PgBouncer in front of the server at `postgres` until the block ends; give its DSN without a database."""
    port = free_port()
    behind = Path(parse_qs(urlsplit(postgres).query)["host"][0])
    with TemporaryDirectory(prefix="pgbouncer-") as name:
        folder = Path(name)
        env = _lay_out(folder, CONFIG.format(socket=behind, port=port, folder=folder))
        process = _start(folder, env, behind.stat())
        try:
            _until_it_listens(port, process, folder / "pgbouncer.log")
            yield f"postgresql://postgres:@127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _lay_out(folder: Path, config: str) -> dict[str, str]:
    """Put program, libraries and configuration into a folder; return the environment to run it in."""
    program = find(PGBOUNCER)
    assert program, "pgbouncer is missing: `make test` sets it up"
    shutil.copy(program.path, folder / "pgbouncer")
    for libraries in program.env.get("LD_LIBRARY_PATH", "").split(":"):
        if libraries:
            shutil.copytree(libraries, folder / "lib", dirs_exist_ok=True)
    users = "".join(f'"{name}" ""\n' for name in ("postgres", PROGRAM, DIRECTORY))
    (folder / "users.txt").write_text(users, encoding="utf-8")
    (folder / "pgbouncer.ini").write_text(config, encoding="utf-8")
    return {"LD_LIBRARY_PATH": str(folder / "lib")}


def _start(folder: Path, env: dict[str, str], owner: os.stat_result) -> subprocess.Popen[bytes]:
    """Start it: never as root, but as whoever owns PostgreSQL's socket, to which nobody else comes."""
    command = [folder / "pgbouncer", folder / "pgbouncer.ini"]
    if os.geteuid() != 0:
        return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    for path in (folder, *folder.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
    return subprocess.Popen(
        command, env=env, stderr=subprocess.DEVNULL, user=owner.st_uid, group=owner.st_gid, extra_groups=[]
    )


def _until_it_listens(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + MINUTE
    while True:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text(encoding="utf-8") if log.exists() else process.returncode
        assert time.monotonic() < deadline
        time.sleep(0.02)
