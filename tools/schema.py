"""Write what follows from the steps of the schema: `steps.lock` and `schema.txt`. Run as `python -m tools.schema`.

A step is frozen once the release that contains it is out: databases have it, so it never changes again, and what
changes is a new step. Until then its line in the lock file follows it.
"""

import hashlib
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from countersign.embedded.postgres import embedded_postgres
from runtime.store.database import schema_state
from runtime.store.database.migration import make_schema
from runtime.store.database.schema_state import VERSIONS
from runtime.store.schema import steps
from runtime.store.schema.tables import metadata

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "runtime/store/schema/steps.lock"

_HEADER = """\
# The steps of the schema: number, release that freezes it, SHA-256 of its SQL files.
# Until that release is out a step may change, and its line with it. From then on it never does: add a new step.
# `python -m tools.schema` writes this file. No step has the number 0002: unreleased versions used it.
"""


class FrozenError(Exception):
    """A step changed after its release; the message names it."""


@dataclass(frozen=True)
class Step:
    """A line of the lock file."""

    release: str
    digest: str


def digest(step: str) -> str:
    """Return the SHA-256 over names, sizes and texts of a step's SQL files."""
    found = hashlib.sha256()
    for file in steps.files(step):
        data = file.read_bytes()
        found.update(f"{file.name} {len(data)}\n".encode() + data)
    return found.hexdigest()


def digests() -> dict[str, str]:
    """Return the digest of each step that there is, by number."""
    return {folder.name: digest(folder.name) for folder in sorted(steps.VERSIONS.iterdir()) if steps.files(folder.name)}


def read_lock(text: str) -> dict[str, Step]:
    """Return the steps that a lock file names, by number."""
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {number: Step(release, sha256) for number, release, sha256 in lines}


def lock(known: dict[str, Step], found: dict[str, str], version: str) -> dict[str, Step]:
    """Return the lock of the steps found by a program of this version; raise FrozenError where a frozen one changed."""
    for number, step in known.items():
        if is_frozen(step, version) and found.get(number) != step.digest:
            raise FrozenError(f"step {number} was released with {step.release} and never changes: add a new step")
    coming = _next_release(version)
    return {
        number: Step(known[number].release if number in known else coming, sha256) for number, sha256 in found.items()
    }


def is_frozen(step: Step, version: str) -> bool:
    """Return whether the release that freezes a step is out, where the project has this version."""
    return _parts(version) >= _parts(step.release)


def project_version() -> str:
    """Return the project's version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def made_by_migrations(dsn: str) -> schema_state.Catalog:
    """Return the schema of an empty database once the steps have run."""
    make_schema(dsn)
    with psycopg.connect(dsn) as conn:
        return schema_state.catalog_of(conn, [*metadata.tables, VERSIONS])


def main() -> None:
    """Write both files, or say which frozen step changed and write nothing."""
    try:
        locked = lock(read_lock(LOCK.read_text(encoding="utf-8")), digests(), project_version())
    except FrozenError as error:
        sys.exit(str(error))
    with TemporaryDirectory() as folder, embedded_postgres(Path(folder) / "data") as dsn:
        schema = made_by_migrations(dsn)
    schema_state.FILE.write_text(schema_state.schema_text(schema), encoding="utf-8")
    lines = (f"{number} {step.release} {step.digest}\n" for number, step in locked.items())
    LOCK.write_text(_HEADER + "".join(lines), encoding="utf-8")


def _next_release(version: str) -> str:
    major, minor, *_ = _parts(version)
    return f"{major}.{minor + 1}.0"


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    main()
