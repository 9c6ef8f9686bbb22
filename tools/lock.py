"""Write the lock files from pyproject.toml: versions and hashes for every platform, and no addresses.

`requirements.lock` is what the program needs to run; `requirements-dev.lock` is what tests and checks add to it;
`benchmarks/requirements.lock` is what the benchmark's peers need, in an environment of their own.

What is locked stays at its version as long as that fits; `--upgrade` takes the newest of everything.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.8"
OLDEST_PYTHON = "3.11"

_REQUIREMENT = re.compile(r"^\S.*\n(?:    --hash=.*\n)*", re.MULTILINE)


RUN, DEVELOPMENT = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
PEERS = ROOT / "benchmarks/requirements.lock"


def main() -> None:
    """Resolve what pyproject.toml asks for, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest version of everything")
    upgrade = parser.parse_args().upgrade
    with (ROOT / "pyproject.toml").open("rb") as file:
        pyproject = tomllib.load(file)
    run = [*pyproject["project"]["dependencies"], *pyproject["build-system"]["requires"]]
    development = pyproject["project"]["optional-dependencies"]["dev"]
    peers = pyproject["dependency-groups"]["peers"]
    with tempfile.TemporaryDirectory() as folder:
        uv = _install_uv(Path(folder))
        running = compile_lock(uv, run, [] if upgrade else [RUN])
        apart = compile_lock(uv, peers, [] if upgrade else [PEERS])
        everything = compile_lock(
            uv, [*run, *development, *(pin(block) for block in running)], [] if upgrade else [RUN, DEVELOPMENT]
        )
    write(RUN, running)
    write(DEVELOPMENT, [block for block in everything if block not in running])
    write(PEERS, apart)


def compile_lock(uv: Path, requirements: list[str], locked: Sequence[Path]) -> list[str]:
    """Return one block per package: its version and the hashes of all its files.

    A version of the `locked` files is kept where it fits: uv prefers what stands in the file that it writes.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output.txt"
        output.write_text("".join(path.read_text(encoding="utf-8") for path in locked), encoding="utf-8")
        subprocess.run(
            [uv, "pip", "compile", "-", "--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes",
             "--no-header", "--no-annotate", "--quiet", "--no-emit-index-url", "--no-emit-find-links",
             "--output-file", output],
            input="\n".join(requirements), text=True, check=True, cwd=ROOT,
        )  # fmt: skip
        return _REQUIREMENT.findall(output.read_text(encoding="utf-8"))


def pin(block: str) -> str:
    """Return the requirement of a block without its hashes."""
    return block.splitlines()[0].removesuffix("\\").strip()


def write(path: Path, blocks: list[str]) -> None:
    """Write the blocks. An address among them would tie everyone to one machine's mirror."""
    text = "".join(blocks)
    if "://" in text:
        sys.exit(f"{path.name} would hold an address; name every package by version in pyproject.toml.")
    path.write_text(text, encoding="utf-8")


def _install_uv(folder: Path) -> Path:
    """Install the pinned resolver apart from the project's environment."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", UV], check=True)
    return folder / "bin" / "uv"


if __name__ == "__main__":
    main()
