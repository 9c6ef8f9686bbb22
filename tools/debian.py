"""Bring a program of a Debian package for tests: from the machine, the user's cache, or apt, without root.

Apt works in a folder of its own with the machine's sources and keys: it checks what it fetches, and nothing of the
machine changes. Only what the machine lacks is fetched, and unpacked where nothing of it is installed.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from countersign.embedded.servers import cache_folder
from countersign.embedded.work import Report, SetUpError, one_at_a_time, run_watched


@dataclass(frozen=True)
class Package:
    """A package, the program of it that tests run, and the folder where that is installed.

    `on_path` says that any program by that name will do.
    """

    name: str
    program: str
    place: str
    on_path: bool


@dataclass(frozen=True)
class Program:
    """A program, and the environment in which it finds its libraries."""

    path: Path
    env: dict[str, str]


PGBOUNCER = Package("pgbouncer", "pgbouncer", "usr/sbin", on_path=True)
POSTGRES_15 = Package("postgresql-15", "postgres", "usr/lib/postgresql/15/bin", on_path=False)


def find(package: Package) -> Program | None:
    """Return the program from the machine or the cache; None if it is in neither."""
    installed = Path("/", package.place, package.program)
    if os.access(installed, os.X_OK):
        return Program(installed, {})
    if package.on_path and (found := shutil.which(package.program)):
        return Program(Path(found), {})
    root = _folder(package)
    if not os.access(root / package.place / package.program, os.X_OK):
        return None
    libraries = ":".join(str(folder) for folder in sorted(root.glob("usr/lib/*-linux-*")))
    return Program(root / package.place / package.program, {"LD_LIBRARY_PATH": libraries})


def ensure(package: Package, report: Report) -> Program:
    """Return the program, after fetching its package where it was missing; raise SetUpError where there is no apt."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache, report):
        found = find(package)
        if found is None:
            _fetch(package, cache, report)
            found = find(package)
    if found is None:
        raise SetUpError(f"the package {package.name} has no {package.program}: install it by hand, and run again.")
    return found


def bring_if_offered(package: Package, report: Report) -> None:
    """Fetch a package where it is missing and to be had; else say what is left out."""
    try:
        ensure(package, report)
    except SetUpError as error:
        report(f"Tests do without {package.name}: {error}")


def _folder(package: Package) -> Path:
    return cache_folder().parent / "debian" / package.name


def _fetch(package: Package, cache: Path, report: Report) -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise SetUpError(f"{package.program} is missing: install {package.name}, then run the same command again.")
    report(f"Fetching {package.name} with apt, for tests alone; nothing is installed")
    with tempfile.TemporaryDirectory(dir=cache, prefix=f".{package.name}-") as folder:
        work, unpacked = Path(folder), Path(folder) / "unpacked"
        for part in ("state/lists/partial", "cache/archives/partial", "unpacked"):
            (work / part).mkdir(parents=True)
        apt = [
            *("apt-get", "-q", "-y", "-o", f"Dir::State={work / 'state'}", "-o", f"Dir::Cache={work / 'cache'}"),
            *("-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User="),
        ]
        _run([*apt, "update"], package, report)
        _run([*apt, "install", "--no-install-recommends", "--download-only", package.name], package, report)
        for archive in sorted((work / "cache/archives").glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", archive, unpacked], check=True)
        _folder(package).parent.mkdir(parents=True, exist_ok=True)
        unpacked.replace(_folder(package))


def _run(command: Sequence[str | Path], package: Package, report: Report) -> None:
    finished = run_watched(
        command, progress=lambda output: f"{output.count('Get:')} files fetched", report=report, env=os.environ
    )
    if finished.code:
        report(finished.last_words())
        raise SetUpError(f"apt could not fetch {package.name}: fix what it says above, or install it, then run again.")
