"""The program as people install it: a wheel of this checkout, in an environment of its own, far from the checkout."""

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.release import build

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, and an empty folder to work in."""

    wheel: Path
    python: Path
    folder: Path

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the installed `countersign` in the empty folder; nothing of the checkout is named to it."""
        inherited = {
            name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR", "XDG_CACHE_HOME") if name in os.environ
        }
        command: list[str | Path] = [self.python.with_name("countersign"), *arguments]
        return subprocess.run(
            command,
            env={**inherited, **env},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel without a network, install it, and lend it the packages of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    _, wheel = build(folder)
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    install = ("--python", python, "install", "--no-deps", "--no-index", wheel)
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *install], check=True, timeout=PATIENCE
    )
    # its own packages come first; a .pth in a folder that is lent is not followed, so the checkout stays unknown
    site = environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "lent.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    (folder / "empty").mkdir()
    return Installed(wheel, python, folder / "empty")
