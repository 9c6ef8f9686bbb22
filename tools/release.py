"""Build the sdist and the wheel of this version in `dist/`, and play the demo from the wheel in an empty folder.

The wheel is built from the sdist, so that what is missing in one is missing in the other. It is installed with the
packages of `requirements.lock` in an environment of its own, by this Python or the one that `--python` names.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.schema import ROOT, project_version

BUILT = ROOT / "dist"
_AWAY = shutil.ignore_patterns(
    *(".*", "build", "dist", "docs", "tests", "tools", "benchmarks", "*.egg-info", "__pycache__")
)
_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
_TAKEN_ALONG = ("PATH", "TMPDIR", "XDG_CACHE_HOME", "HOME")


class ReleaseError(Exception):
    """This version cannot be released; the message says why."""


@dataclass(frozen=True)
class Installed:
    """An installed program, and the empty folder in which it runs."""

    python: Path
    folder: Path

    def run(self, *arguments: str | Path) -> str:
        """Run the installed `countersign` and return what it prints; raise ReleaseError where it fails."""
        env = {name: os.environ[name] for name in _TAKEN_ALONG if name in os.environ}
        command: list[str | Path] = [self.python.with_name("countersign"), *arguments]
        done = subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ReleaseError(f"countersign {arguments[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist of this checkout, and the wheel from it, without a network; return both."""
    with tempfile.TemporaryDirectory() as copied:
        checkout = shutil.copytree(ROOT, Path(copied) / "checkout", ignore=_AWAY)
        made: list[str | Path] = [sys.executable, "-c", _SDIST, folder]
        subprocess.run(made, cwd=checkout, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (sdist,) = folder.glob("*.tar.gz")
    wheel: list[str | Path] = [
        *_PIP,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        folder,
        sdist,
    ]
    subprocess.run([sys.executable, *wheel], check=True)
    return sdist, next(folder.glob("*.whl"))


def install(wheel: Path, python: str, folder: Path) -> Installed:
    """Install the wheel with the packages of the lock file, in an environment that this Python makes."""
    subprocess.run([python, "-m", "venv", folder / "environment"], check=True)
    found = folder / "environment/bin/python"
    locked = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", ROOT / "requirements.lock")
    for what in (locked, ("--no-deps", "--no-index", wheel)):
        pip: list[str | Path] = [found, *_PIP, "install", *what]
        subprocess.run(pip, check=True)
    (folder / "empty").mkdir()
    return Installed(found, folder / "empty")


def play(program: Installed, version: str) -> None:
    """Check definitions and policies, play the demo, verify its evidence; ReleaseError if that is another version's."""
    if (said := program.run("--version").split()[-1]) != version:
        raise ReleaseError(f"the wheel says that it is {said}, and pyproject.toml that it is {version}")
    program.run("definitions", "check")
    program.run("policy", "check")
    left = dict(line.split(": ", 1) for line in program.run("demo").splitlines()[-3:])
    if left["sha256"] not in program.run("evidence", "verify", left["bundle"], "--key", left["key"]):
        raise ReleaseError("what was verified is not the bundle of the demo")


def check_changelog(text: str, version: str) -> None:
    """Raise ReleaseError unless the CHANGELOG has a section for this version."""
    if version not in {line.split()[1] for line in text.splitlines() if line.startswith("## ")}:
        raise ReleaseError(f"CHANGELOG.md has no section for {version}")


def release(python: str) -> None:
    """Build, install and play this version; print what was built, with its SHA-256."""
    version = project_version()
    check_changelog((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as elsewhere:
        built = build(Path(made))
        play(install(built[1], python, Path(elsewhere)), version)
        BUILT.mkdir(exist_ok=True)
        for file in built:
            shutil.copy(file, BUILT)
            print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  dist/{file.name}")


def main() -> None:
    """Read the command line; exit with 1 and a sentence where the version cannot be released."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the installed program")
    try:
        release(parser.parse_args().python)
    except (ReleaseError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
