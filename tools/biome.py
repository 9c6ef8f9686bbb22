"""Run the pinned Biome, which checks JavaScript, with the given arguments: `python -m tools.biome lint`.

It comes from npm, which is asked for it once, and stays in the user's cache. `biome.jsonc` has the rules.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from countersign.embedded.servers import cache_folder, platform_name
from countersign.embedded.work import Report, SetUpError, one_at_a_time, to_stderr
from tools.npm import Package, files_in, packed

VERSION = "2.6.8"
PROGRAM = "biome"

_PACKAGES = {
    "linux-amd64": (
        "linux-x64",
        "XIk3pLQT56I6Tti+u0DF8FtSNXjCMTPbxVTzfJ9cS2t1ImVKvrqV5b52GuEaJg6/wuiXvz0sjfb5saB4TPRjzA==",
    ),
    "linux-arm64": (
        "linux-arm64",
        "0Bjim8lKwnrvXUHoI4k3Tb51BjoiLEwDnovCI8nSzkk6wj3dShiuAjrx6+X0Hjf4ejR1sRZgTQiSDHlpy9vB7w==",
    ),
    "darwin-amd64": (
        "darwin-x64",
        "QWWUPjlA0RnkkgYnFLUHZu+RrDc0FdK0A+wEPA+dENQJwsuSHMH89lspnAw2QUWWc9VHyfluGx1Xmp6Y2GZi8Q==",
    ),
    "darwin-arm64": (
        "darwin-arm64",
        "DHyj+JnRHcn4YdvpiqgTFZMYKSPELMCfFpNNlEuu1L8DKTGXhzW7raIwdsbo2Ie9nCljQLAQkVWQk/mwM0ueiA==",
    ),
}
PACKAGES = {
    platform: Package(f"@biomejs/cli-{name}", VERSION, platform, sha512)
    for platform, (name, sha512) in _PACKAGES.items()
}


def main() -> None:
    """Become the biome process."""
    try:
        program = ensure(to_stderr)
    except SetUpError as error:
        sys.exit(str(error))
    os.execv(program, [PROGRAM, *sys.argv[1:]])  # noqa: S606 - the caller's own arguments, no shell


def ensure(report: Report, packages: Mapping[str, Package] = PACKAGES) -> Path:
    """Return the program, after fetching it where it was missing; raise SetUpError where that cannot be."""
    program = cache_folder().parent / PROGRAM / VERSION / PROGRAM
    if os.access(program, os.X_OK):
        return program
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache, report):
        if not os.access(program, os.X_OK):
            _fetch(_package(packages), program, cache, report)
    return program


def _package(packages: Mapping[str, Package]) -> Package:
    """Return the package for this machine."""
    missing = f"Biome {VERSION}, which checks JavaScript, is missing, and"
    package = packages.get(platform_name())
    if package is None:
        raise SetUpError(f"{missing} there is none for {platform_name()}: run the checks on another machine.")
    if not shutil.which("npm"):
        raise SetUpError(f"{missing} so is npm, which brings it: install Node with npm, then run again.")
    return package


def _fetch(package: Package, program: Path, cache: Path, report: Report) -> None:
    """Lay the program down beside its place, and move it there when it is whole."""
    report(f"Fetching {package.name} {package.version} with npm, for checks alone; nothing is installed")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".biome-") as name:
        archive = packed(package, Path(name), report, "run the checks on another machine")
        found = dict(files_in(archive)).get(PROGRAM)
        if found is None:
            raise SetUpError(f"{package.name} {package.version} has no program: run the checks on another machine.")
        made = Path(name) / PROGRAM
        made.write_bytes(found)
        made.chmod(0o755)
        made.replace(program)


if __name__ == "__main__":
    main()
