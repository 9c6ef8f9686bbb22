"""Check the policies: format, strict compilation, tests at full coverage, the meta-policy, and what is served of them.

The core's folder and the rules of packs are laid out in one folder, as in a bundle but with their tests, so that packs
are checked together with what they are part of. One line per failure, naming the file as the author knows it.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from countersign.embedded.servers import OPA, find
from policy.bundle import PACKS, Bundle, PolicyFolders, build_bundle
from policy.errors import PolicyError
from policy.vetting import vet_bundle

ROOT = Path(__file__).resolve().parents[1]
META = ROOT / "rego" / "meta.rego"


def find_opa() -> str:
    """Return the opa binary that COUNTERSIGN_OPA names, else the pinned one."""
    found = os.environ.get("COUNTERSIGN_OPA") or find(OPA)
    if found is None:
        sys.exit("opa is missing: run make check, which sets it up, or set COUNTERSIGN_OPA to its path")
    return str(Path(found).absolute())


@dataclass(frozen=True)
class Layout:
    """Core and packs in one folder; `sources` has the file behind each file in it."""

    opa: str
    folder: Path
    sources: dict[str, Path]

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run opa in the folder, so that it names files as `sources` does, and return what it printed."""
        command = [self.opa, *arguments]
        env = {"GOGC": "400", **os.environ}  # it lives for a second: collecting garbage would be half of its work
        return subprocess.run(
            command, cwd=self.folder, input=text, capture_output=True, text=True, check=False, env=env
        )

    def named(self, line: str) -> str:
        """Return a line of opa's with the author's own names of files."""
        return re.sub(r"[\w./-]+\.(?:rego|json)", lambda found: str(self.sources.get(found[0], found[0])), line)

    def failures(self, result: subprocess.CompletedProcess[str]) -> list[str]:
        """Return what a failed command printed, without empty lines."""
        if result.returncode == 0:
            return []
        printed = [self.named(line) for line in (result.stdout + result.stderr).splitlines() if line.strip()]
        return printed or [f"{' '.join(result.args)} exits with {result.returncode}"]


def lay_out(opa: str, folders: PolicyFolders, folder: Path) -> Layout:
    """Copy what the folders hold, tests and schemas too, into one."""
    sources: dict[str, Path] = {}
    prefixed = {"": folders.core, **{f"{PACKS}/{name}/": rules for name, rules in folders.rules_of_packs().items()}}
    for prefix, source in prefixed.items():
        for file in (file for file in sorted(source.rglob("[!.]*")) if file.is_file()):
            name = f"{prefix}{file.relative_to(source).as_posix()}"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / name)
            sources[name] = file
    return Layout(opa, folder, sources)


def format_failures(layout: Layout) -> list[str]:
    """Name the files that `opa fmt` would change."""
    result = layout.run("fmt", "--list", "--fail", ".")
    unformatted = [layout.named(name) for name in result.stdout.split()]
    return [f"{file}: not formatted, run opa fmt --write" for file in unformatted] or layout.failures(result)


def compile_failures(layout: Layout) -> list[str]:
    """Name what the strict compiler refuses, with the input typed by its schema."""
    return layout.failures(layout.run("check", "--strict", "--bundle", "--schema", "schemas", "."))


def test_failures(layout: Layout) -> list[str]:
    """Name the lines that no test reaches or, where one does not pass, the tests that do not."""
    if not any(name.endswith("_test.rego") for name in layout.sources):
        return ["no tests were found"]
    why = "--coverage-runs="  # not asked: each reason why a line is not reached would be one more run of the tests
    covered = layout.run("test", "--bundle", "--coverage", why, "--format", "json", ".")
    if covered.returncode == 0:
        return uncovered(layout, json.loads(covered.stdout)["files"])
    result = layout.run("test", "--bundle", "--format", "json", ".")  # with coverage, opa names the first of them
    if not result.stdout.startswith("["):
        return layout.failures(result)
    bad = [test for test in json.loads(result.stdout) if test.keys() & {"fail", "error", "skip"}]
    named = [f"{test['location']['file']}:{test['location']['row']}: {test['name']} does not pass" for test in bad]
    return [layout.named(line) for line in named] or layout.failures(covered)


def uncovered(layout: Layout, files: dict[str, Any]) -> list[str]:
    """Name the lines that no test reaches; given a threshold, opa says only how many."""
    return [
        layout.named(f"{file}:{span['start']['row']}: no test reaches this line")
        for file, lines in sorted(files.items())
        for span in lines.get("not_covered", [])
    ]


def meta_failures(layout: Layout) -> list[str]:
    """Name what the meta-policy demands and does not find."""
    files = [name for name in sorted(layout.sources) if name.endswith(".rego") and not name.endswith("_test.rego")]
    parsed = [layout.run("parse", "--format", "json", "--json-include=-comments,locations", name) for name in files]
    trees = json.dumps({"modules": [json.loads(result.stdout) for result in parsed]})
    result = layout.run("eval", "--data", str(META), "--stdin-input", "--format", "raw", "data.meta.deny", text=trees)
    if result.returncode != 0:
        return layout.failures(result)
    return [
        f"{layout.sources[found['file']]}:{found['row']}: {found['msg']} ({found['code']})"
        for found in json.loads(result.stdout)
    ]


def served_failures(opa: str, folders: PolicyFolders, bundle: Bundle) -> list[str]:
    """Name what keeps the policy from being served: tenants' data, and answers that are none."""
    with TemporaryDirectory(prefix="countersign-bundle-") as folder:
        file = Path(folder) / "bundle.tar.gz"
        file.write_bytes(bundle.data)
        try:
            asyncio.run(vet_bundle(Path(opa), bundle, file, folders.schemas))
        except PolicyError as error:
            return [f"{folders.core}: {problem}" for problem in str(error).split("; ")]
    return []


# Each relies on policies that compile.
CHECKS = (format_failures, test_failures, meta_failures)


def failures_in(opa: str, folders: PolicyFolders) -> list[str]:
    """Return every failure, one line each."""
    try:
        bundle = build_bundle(folders)
    except PolicyError as error:
        return [str(error)]
    with TemporaryDirectory(prefix="countersign-policies-") as folder:
        layout = lay_out(opa, folders, Path(folder))
        if failures := compile_failures(layout):
            return failures
        return [*served_failures(opa, folders, bundle), *(failure for check in CHECKS for failure in check(layout))]


def main(arguments: list[str]) -> int:
    """Check the core's folder and packs that are named, else those of this repository; return the exit code."""
    core = Path(arguments[0] if arguments else "rego")
    packs = map(Path, arguments[1:]) if arguments else sorted(Path("packs").glob("*"))
    folders = PolicyFolders(core, tuple(packs))
    if missing := [folder for folder in (core, *folders.packs) if not folder.exists()]:
        sys.exit(f"{missing[0]} is not a folder")
    failures = failures_in(find_opa(), folders)
    print("\n".join(failures) or f"{core}: policies are in order")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
