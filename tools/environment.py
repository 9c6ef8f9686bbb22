"""Build the virtual environment in `.venv` from the lock files, and see that the pinned servers are there."""

import hashlib
import importlib.util
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from countersign.embedded.servers import MINIO, OPA, Server, ensure
from countersign.embedded.work import Finished, Report, SetUpError, one_at_a_time, run_watched, to_stderr
from tools import biome, chromium, debian, tessera

ROOT = Path(__file__).resolve().parent.parent

_STARTED = "started"

# No package's own set-up code runs, and what is not in the lock file does not come in.
_FROM_LOCK = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "-r")


@dataclass(frozen=True)
class Layer:
    """A part of the environment: the file that decides it, how it is installed, and how it is called."""

    name: str
    source: str
    install: tuple[str, ...]

    def wanted(self, root: Path) -> str:
        """Return what the stamp must hold for the layer to be in place."""
        seen = sys.version.encode() + (root / self.source).read_bytes()
        return hashlib.sha256(seen).hexdigest()


PACKAGES = Layer("the packages of requirements.lock", "requirements.lock", (*_FROM_LOCK, "requirements.lock"))
PROJECT = Layer(
    "the project itself", "pyproject.toml", ("--no-deps", "--no-build-isolation", "--no-index", "--editable", ".")
)
DEVELOPMENT = Layer(
    "the packages of requirements-dev.lock", "requirements-dev.lock", (*_FROM_LOCK, "requirements-dev.lock")
)

NEEDS: dict[str, tuple[tuple[Layer, ...], tuple[Server, ...]]] = {
    "run": ((PACKAGES, PROJECT), (OPA,)),
    "check": ((PACKAGES, PROJECT, DEVELOPMENT), (OPA,)),
    "test": ((PACKAGES, PROJECT, DEVELOPMENT), (OPA, MINIO)),
}
CHECKS = "check"
TESTS = "test"


def main(purpose: str) -> int:
    """Make the checkout ready for the purpose; return the exit status."""
    layers, servers = NEEDS[purpose]
    try:
        Environment(ROOT, to_stderr).ensure(layers)
        for server in servers:
            ensure(server, to_stderr)
        if purpose == CHECKS:
            biome.ensure(to_stderr)
        if purpose == TESTS:
            debian.ensure(debian.PGBOUNCER, to_stderr)
            chromium.ensure(to_stderr)
            debian.bring_if_offered(debian.POSTGRES_15, to_stderr)
            tessera.build_if_possible(to_stderr)
    except SetUpError as error:
        to_stderr(str(error))
        return 1
    return 0


class Environment:
    """The virtual environment of one checkout. A stamp per layer tells what is in it.

    A layer that was interrupted, or whose lock file has changed, means a new environment; a changed pyproject.toml
    means that the project alone is installed again.
    """

    def __init__(self, root: Path, report: Report) -> None:
        self._root = root
        self._report = report
        self._folder = root / ".venv"
        self._stamps = self._folder / "set-up"
        self._python = self._folder / "bin" / "python"

    def ensure(self, layers: Sequence[Layer]) -> None:
        """Install what is missing of the layers. Costs a few milliseconds when nothing is."""
        if all(self._in_place(layer) for layer in layers):
            return
        with one_at_a_time(self._root, self._report):
            if not self._sound():
                self._create()
            for layer in layers:
                if not self._in_place(layer):
                    self._install(layer)

    def _in_place(self, layer: Layer) -> bool:
        return self._python.exists() and self._stamp(layer) == layer.wanted(self._root)

    def _sound(self) -> bool:
        """Return whether the environment can be added to: whole, and with no package from an older lock."""
        return self._in_place(PACKAGES) and self._stamp(DEVELOPMENT) in ("", DEVELOPMENT.wanted(self._root))

    def _create(self) -> None:
        """Make an empty environment. The stamps go last and come first, so that a killed attempt is known as ours."""
        self._refuse_foreign()
        if not importlib.util.find_spec("ensurepip"):
            raise SetUpError(
                f"{sys.executable} comes without ensurepip, which makes virtual environments: install it"
                f" (Debian and Ubuntu: apt install python3-venv), or name another Python with PYTHON=."
            )
        self._report(f"Making a virtual environment in {self._folder} with Python {sys.version.split()[0]}")
        self._stamps.mkdir(parents=True, exist_ok=True)
        self._set_stamp(PACKAGES, _STARTED)
        for child in self._folder.iterdir():
            if child != self._stamps:
                _remove(child)
        finished = self._run([sys.executable, "-m", "venv", self._folder])
        if finished.code:
            self._report(finished.last_words())
            raise SetUpError(f"{sys.executable} could not make {self._folder}: fix what it says above, then run again.")
        for layer in (PROJECT, DEVELOPMENT):
            self._set_stamp(layer, "")

    def _refuse_foreign(self) -> None:
        """Keep an environment that someone else made: only they know what is lost with it."""
        if self._folder.is_symlink() or (self._folder.exists() and not self._stamps.is_dir()):
            raise SetUpError(
                f"{self._folder} was not made by this set-up: move it away, then run the same command again."
            )

    def _install(self, layer: Layer) -> None:
        started = time.monotonic()
        self._report(f"Installing {layer.name}")
        self._set_stamp(layer, _STARTED)
        pip: list[str | Path] = [self._python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
        finished = self._run([*pip, *layer.install])
        if finished.code:
            self._report(finished.last_words())
            raise SetUpError(_remedy(layer, finished.output))
        self._set_stamp(layer, layer.wanted(self._root))
        self._report(f"  done in {time.monotonic() - started:.0f} s")

    def _run(self, command: Sequence[str | Path]) -> Finished:
        return run_watched(command, progress=_packages_fetched, report=self._report, cwd=self._root)

    def _stamp(self, layer: Layer) -> str:
        try:
            return (self._stamps / layer.source).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def _set_stamp(self, layer: Layer, text: str) -> None:
        (self._stamps / layer.source).write_text(text, encoding="utf-8")


def _packages_fetched(output: str) -> str:
    return f"{output.count('Collecting ')} packages fetched"


def _remove(path: Path) -> None:
    """Remove a file, a link or a whole folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _remedy(layer: Layer, output: str) -> str:
    """Turn pip's last words into one sentence that says what to do."""
    if "DO NOT MATCH THE HASHES" in output:
        return (
            f"A package is not the one that {layer.source} names, and was refused: check where pip takes packages from."
        )
    if "No matching distribution found" in output:
        return (
            f"pip found no ready-made package for Python {sys.version.split()[0]} on this machine: connect to the"
            " network or name a package index in PIP_INDEX_URL, or name another Python with PYTHON=."
        )
    return f"pip could not install {layer.source}: fix what it says above, then run the same command again."
