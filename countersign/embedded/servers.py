"""Find the pinned server programs, or make them: from PATH, the user's cache, Go, or the vendor's release.

A file is downloaded over HTTPS and kept only if it has its published SHA-256. Standard library only: set-up uses this
before any package is installed.
"""

import hashlib
import mmap
import os
import platform
import re
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib import request

from countersign.embedded.work import REPORT_EVERY, Report, SetUpError, one_at_a_time, run_watched

_DOWNLOAD_TIMEOUT_S = 30.0
_CHUNK = 1 << 18
_CHECKSUM_LIMIT = 4096


class DownloadError(Exception):
    """The file was not obtained, and nothing of it was kept."""


def download(
    url: str, checksum_url: str, target: Path, report: Report, *, context: ssl.SSLContext | None = None
) -> None:
    """Bring the file at `url` to `target`, executable, if its SHA-256 is the one that stands at `checksum_url`."""
    opener = _https_only(context or ssl.create_default_context())
    expected = _published_digest(opener, checksum_url)
    part = target.with_name(f".{target.name}.part")
    try:
        actual = _receive(opener, url, part, report)
        if actual != expected:
            raise DownloadError(f"{url} has the SHA-256 {actual}, but {checksum_url} publishes {expected}")
        part.chmod(0o755)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _https_only(context: ssl.SSLContext) -> request.OpenerDirector:
    """Return an opener that speaks nothing but HTTPS, so that no redirect leads out of it."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPSHandler(context=context),
        request.HTTPRedirectHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


@contextmanager
def _open(opener: request.OpenerDirector, url: str) -> Iterator[HTTPResponse]:
    """Open the address; every way in which the network can fail becomes one error that names it."""
    try:
        with cast("HTTPResponse", opener.open(url, timeout=_DOWNLOAD_TIMEOUT_S)) as response:
            yield response
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"{url} answered {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise DownloadError(f"{url} could not be read ({getattr(error, 'reason', None) or error})") from error


def _published_digest(opener: request.OpenerDirector, url: str) -> str:
    """Return the SHA-256 that the vendor publishes: the first word of the file, as `sha256sum` writes it."""
    with _open(opener, url) as response:
        words = response.read(_CHECKSUM_LIMIT).decode("ascii", "replace").split()
    if not words or not re.fullmatch(r"[0-9a-fA-F]{64}", words[0]):
        raise DownloadError(f"{url} holds no SHA-256")
    return words[0].lower()


def _receive(opener: request.OpenerDirector, url: str, part: Path, report: Report) -> str:
    """Write the body to `part` and return its SHA-256."""
    digest, size, reported = hashlib.sha256(), 0, time.monotonic()
    with _open(opener, url) as response, part.open("wb") as sink:
        total = int(response.headers.get("Content-Length", 0))
        while chunk := response.read(_CHUNK):
            sink.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            if time.monotonic() - reported > REPORT_EVERY:
                reported = time.monotonic()
                report(f"  {size >> 20} of {total >> 20} MiB")
        if size < total:
            raise DownloadError(f"{url} ended after {size} of {total} bytes")
    return digest.hexdigest()


_VERSION_TIMEOUT_S = 10.0
_GO_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Server:
    """A server program at the one version that we run.

    `module` at `version` is what Go builds; `release` is what the vendor's own build says of itself. `assets`
    gives the file of the vendor's release for each platform, `checksum` the suffix of the file with its SHA-256.
    """

    name: str
    module: str
    version: str
    release: str
    version_command: str
    base_url: str
    assets: Mapping[str, str]
    checksum: str
    build_time: str

    @property
    def cache_names(self) -> tuple[str, str]:
        """Return the names in the cache of the program as Go builds it and as the vendor does."""
        return f"{self.name}-{self.version.removeprefix('v')}", f"{self.name}-{self.release}"


OPA = Server(
    name="opa",
    module="github.com/open-policy-agent/opa",
    version="v1.22.0",
    release="1.22.0",
    version_command="version",
    base_url="https://github.com/open-policy-agent/opa/releases/download/v1.22.0",
    assets={
        "linux-amd64": "opa_linux_amd64_static",
        "linux-arm64": "opa_linux_arm64_static",
        "darwin-amd64": "opa_darwin_amd64",
        "darwin-arm64": "opa_darwin_arm64_static",
    },
    checksum=".sha256",
    build_time="a minute and a half",
)

# The vendor's last release with programs is older than the last version of its source.
_MINIO_RELEASE = "RELEASE.2025-09-07T16-13-09Z"

MINIO = Server(
    name="minio",
    module="github.com/minio/minio",
    version="v0.0.0-20260212201848-7aac2a2c5b7c",
    release=_MINIO_RELEASE,
    version_command="--version",
    base_url=f"https://github.com/minio/minio/releases/download/{_MINIO_RELEASE}",
    assets={
        f"{system}-{machine}": f"minio.{system}-{machine}.{_MINIO_RELEASE}"
        for system in ("linux", "darwin")
        for machine in ("amd64", "arm64")
    },
    checksum=".sha256sum",
    build_time="two and a half minutes",
)


def find(server: Server) -> Path | None:
    """Return the program from PATH, if its version fits, or from the cache; None if it is in neither."""
    on_path = shutil.which(server.name)
    if on_path and fits(server, Path(on_path)):
        return Path(on_path)
    cached = (cache_folder() / name for name in server.cache_names)
    return next((path for path in cached if os.access(path, os.X_OK)), None)


def ensure(server: Server, report: Report, *, context: ssl.SSLContext | None = None) -> Path:
    """Return the program, after building or downloading it where it was missing."""
    found = find(server)
    if found:
        return found
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache, report):
        return find(server) or _make(server, cache, report, context)


def fits(server: Server, program: Path) -> bool:
    """Return whether the program says that it is our release, or was built by Go from our version of the module."""
    try:
        answer = subprocess.run(
            [program, server.version_command], capture_output=True, timeout=_VERSION_TIMEOUT_S, check=False
        )
        return server.release.encode() in answer.stdout.split() or _built_from(server, program)
    except (OSError, subprocess.TimeoutExpired):
        return False


def cache_folder() -> Path:
    """Return the user's folder for programs that set-up made."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "countersign" / "bin"


def _built_from(server: Server, program: Path) -> bool:
    """Look for the line by which Go marks a program with its module; the program itself may not know its version."""
    mark = f"mod\t{server.module}\t{server.version}\t".encode()
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(mark) >= 0


def _make(server: Server, cache: Path, report: Report, context: ssl.SSLContext | None) -> Path:
    """Build the program where Go is present; else, or if that fails, download it."""
    try:
        return _build(server, cache, report)
    except SetUpError as error:
        not_built = str(error)
    try:
        return _download(server, cache, report, context)
    except (SetUpError, DownloadError) as error:
        raise SetUpError(
            f"{server.name} {server.release} is missing and could not be made ({not_built}; {error}): "
            f"install Go, or put that {server.name} on the PATH, then run the same command again."
        ) from error


def _build(server: Server, cache: Path, report: Report) -> Path:
    """Build the module with Go, and move the program into the cache when it is whole."""
    return go_install(f"{server.module}@{server.version}", cache / server.cache_names[0], server.build_time, report)


def go_install(package: str, target: Path, build_time: str, report: Report) -> Path:
    """Build a package at a version (`path/name@v1.2.3`) with Go, apart, and move it to `target` when it is whole.

    Raise SetUpError where Go is missing or fails. Go checks what it fetches against its public database of sums.
    """
    path, _, version = package.partition("@")
    name = path.rpartition("/")[2]
    go = shutil.which("go")
    if not go:
        raise SetUpError("Go is not installed")
    report(f"Building {name} {version} with Go; this takes about {build_time}, once per machine")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}-") as folder:
        finished = run_watched(
            [go, "install", "-v", "-trimpath", package],
            progress=_packages_built,
            report=report,
            env={**os.environ, "GOBIN": folder, "CGO_ENABLED": "0"},
            cwd=Path(folder),
        )
        if finished.code:
            report(finished.last_words())
            raise SetUpError(f"go install failed with exit status {finished.code}")
        return (Path(folder) / name).replace(target)


def _packages_built(output: str) -> str:
    """Describe how far `go install -v` is: it names each module it fetches and each package it compiles."""
    lines = output.splitlines()
    fetched = sum(line.startswith("go: ") for line in lines)
    return f"{fetched} modules fetched, {len(lines) - fetched} packages compiled"


def _download(server: Server, cache: Path, report: Report, context: ssl.SSLContext | None) -> Path:
    """Bring the vendor's build for this platform into the cache."""
    asset = server.assets.get(platform_name())
    if not asset:
        raise SetUpError(f"its vendor has no program for {platform_name()}")
    url = f"{server.base_url}/{asset}"
    target = cache / server.cache_names[1]
    report(f"Downloading {url}")
    download(url, f"{url}{server.checksum}", target, report, context=context)
    return target


def platform_name() -> str:
    """Return system and machine by the names that Go gives them, such as `linux-amd64`."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{_GO_MACHINES.get(machine, machine)}"
