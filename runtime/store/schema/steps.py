"""The steps: each is a folder of SQL files in `versions/`, which run in the order of their names."""

from pathlib import Path

from alembic import op

VERSIONS = Path(__file__).with_name("versions")


def files(step: str) -> list[Path]:
    """Return the SQL files of a step, in the order in which they run."""
    return sorted((VERSIONS / step).glob("*.sql"))


def run_sql(step: str) -> None:
    """Run a step's SQL on the connection that Alembic migrates."""
    for file in files(step):
        op.execute(file.read_text(encoding="utf-8"))
