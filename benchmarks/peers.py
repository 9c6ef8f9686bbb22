"""Sets the peers up, apart from the project: packages by their lock files, once per version of those."""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from countersign.embedded.servers import cache_folder
from countersign.embedded.work import SetUpError, one_at_a_time, run_watched, to_stderr

HERE = Path(__file__).resolve().parent
LOCK = HERE / "requirements.lock"


def python() -> Path:
    """Return the Python in which the peers' packages are; raise SetUpError where they cannot be had."""
    folder = _folder("python", sys.version.encode() + LOCK.read_bytes())
    found = folder / "bin" / "python"
    with one_at_a_time(folder, to_stderr):
        if not (folder / "whole").exists():
            to_stderr("Installing the peers' packages, apart from the project's")
            venv.create(folder, with_pip=True, clear=False)
            pip: list[str | Path] = [
                found,
                "-m",
                "pip",
                "install",
                "--no-input",
                "--disable-pip-version-check",
                "--require-hashes",
            ]
            _run([*pip, "--no-deps", "--only-binary", ":all:", "-r", LOCK], folder)
            (folder / "whole").touch()
    return found


def restate_server() -> Path:
    """Return Restate's server program, from its package; raise SetUpError where it cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetUpError("Restate's server comes as a package of npm, which is not installed")
    folder = _folder("restate", (HERE / "package-lock.json").read_bytes())
    with one_at_a_time(folder, to_stderr):
        if not (folder / "whole").exists():
            to_stderr("Installing Restate's server, apart from the project")
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, folder)
            _run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
            (folder / "whole").touch()
    programs = list(folder.glob("node_modules/@restatedev/restate-server-*/bin/restate-server"))
    if not programs:
        raise SetUpError("Restate's package has no server for this machine")
    return programs[0]


def _folder(name: str, decides: bytes) -> Path:
    folder = cache_folder().parent / "peers" / f"{name}-{hashlib.sha256(decides).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run(command: list[str | Path], folder: Path) -> None:
    try:
        finished = run_watched(command, progress=lambda _: "installing", report=to_stderr, env=os.environ, cwd=folder)
    except (OSError, subprocess.SubprocessError) as error:
        raise SetUpError(f"{command[0]} cannot be run: {error}") from error
    if finished.code:
        raise SetUpError(f"the peers' packages could not be installed: {finished.last_words(5)}")
