"""Checks of a policy as its author has it: format, strict compilation, tests at full coverage, the meta-policy.

The core's folder and the rules of packs are laid out in one folder, as in a bundle but with their tests, so that packs
are checked together with what they are part of. Each fault is one line that names the file as the author knows it.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policy.bundle import PACKS, Bundle, PolicyFolders, build_bundle
from policy.errors import PolicyError
from policy.vetting import vet_bundle

_TEST = ("test", "--timeout", "60s", "--bundle")
"""OPA's own 5 s for one test are too few on a busy machine."""


@dataclass(frozen=True)
class Layout:
    """Core and packs in one folder; `sources` has the file behind each file in it. `opa` is the program."""

    opa: Path
    folder: Path
    sources: dict[str, Path]

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run opa in the folder, so that it names files as `sources` does, and return what it printed."""
        command = [str(self.opa.absolute()), *arguments]
        env = {"GOGC": "400", **os.environ}  # it lives for a second: collecting garbage would be half of its work
        return subprocess.run(
            command, cwd=self.folder, input=text, capture_output=True, text=True, check=False, env=env
        )

    def named(self, line: str) -> str:
        """Return a line of opa's with the author's own names of files."""
        return re.sub(r"[\w./-]+\.(?:rego|json)", lambda found: str(self.sources.get(found[0], found[0])), line)

    def faults(self, result: subprocess.CompletedProcess[str]) -> list[str]:
        """Return what a failed command printed, without empty lines."""
        if result.returncode == 0:
            return []
        printed = [self.named(line) for line in (result.stdout + result.stderr).splitlines() if line.strip()]
        return printed or [f"opa {result.args[1]} exits with {result.returncode}"]


@contextmanager
def laid_out(opa: Path, folders: PolicyFolders) -> Iterator[Layout]:
    """Copy what the folders hold, tests and schemas too, into one, and remove that at the end; raise PolicyError."""
    with TemporaryDirectory(prefix="countersign-policies-") as made:
        yield _lay_out(opa, folders, Path(made))


def _lay_out(opa: Path, folders: PolicyFolders, folder: Path) -> Layout:
    sources: dict[str, Path] = {}
    prefixed = {"": folders.core, **{f"{PACKS}/{name}/": rules for name, rules in folders.rules_of_packs().items()}}
    for prefix, source in prefixed.items():
        for file in (file for file in sorted(source.rglob("[!.]*")) if file.is_file()):
            name = f"{prefix}{file.relative_to(source).as_posix()}"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / name)
            sources[name] = file
    return Layout(opa, folder, sources)


def _format_faults(layout: Layout) -> list[str]:
    """Name the files that `opa fmt` would change."""
    result = layout.run("fmt", "--list", "--fail", ".")
    unformatted = [layout.named(name) for name in result.stdout.split()]
    return [f"{file}: not formatted, run countersign policy fmt" for file in unformatted] or layout.faults(result)


def _compile_faults(layout: Layout) -> list[str]:
    """Name what the strict compiler refuses, with the input typed by its schema."""
    return layout.faults(layout.run("check", "--strict", "--bundle", "--schema", "schemas", "."))


def _test_faults(layout: Layout) -> list[str]:
    """Name the lines that no test reaches or, where one does not pass, the tests that do not."""
    if not any(name.endswith("_test.rego") for name in layout.sources):
        return ["no tests were found"]
    why = "--coverage-runs="  # not asked: each reason why a line is not reached would be one more run of the tests
    covered = layout.run(*_TEST, "--coverage", why, "--format", "json", ".")
    if covered.returncode == 0:
        return _uncovered(layout, json.loads(covered.stdout)["files"])
    result = layout.run(*_TEST, "--format", "json", ".")  # with coverage, opa names the first of them
    if not result.stdout.startswith("["):
        return layout.faults(result)
    bad = [test for test in json.loads(result.stdout) if test.keys() & {"fail", "error", "skip"}]
    named = [f"{test['location']['file']}:{test['location']['row']}: {test['name']} does not pass" for test in bad]
    return [layout.named(line) for line in named] or layout.faults(covered)


def _uncovered(layout: Layout, files: dict[str, Any]) -> list[str]:
    """Name the lines that no test reaches; given a threshold, opa says only how many."""
    return [
        layout.named(f"{file}:{span['start']['row']}: no test reaches this line")
        for file, lines in sorted(files.items())
        for span in lines.get("not_covered", [])
    ]


def _trees(layout: Layout) -> dict[str, Any]:
    """Return the syntax trees of the files, without tests, by their names in the layout."""
    files = [name for name in sorted(layout.sources) if name.endswith(".rego") and not name.endswith("_test.rego")]
    parsed = (layout.run("parse", "--format", "json", "--json-include=-comments,locations", name) for name in files)
    return {name: json.loads(result.stdout) for name, result in zip(files, parsed, strict=True)}


def _violations(layout: Layout, meta: Path, trees: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the meta-policy demands and does not find: `file`, `row`, `msg` and `code` each."""
    modules = json.dumps({"modules": list(trees.values())})
    result = layout.run(
        "eval", "--data", str(meta.absolute()), "--stdin-input", "--format", "raw", "data.meta.deny", text=modules
    )
    if result.returncode != 0:
        raise PolicyError("; ".join(layout.faults(result)))
    return [{**found, "file": str(layout.sources[found["file"]])} for found in json.loads(result.stdout)]


def _meta_faults(layout: Layout, meta: Path) -> list[str]:
    """Name what the meta-policy demands and does not find."""
    try:
        found = _violations(layout, meta, _trees(layout))
    except PolicyError as error:
        return [str(error)]
    return [f"{one['file']}:{one['row']}: {one['msg']} ({one['code']})" for one in found]


@dataclass(frozen=True)
class Inspected:
    """A policy that compiles: its syntax trees and their files, what the meta-policy says, and what serving refuses."""

    bundle: Bundle
    trees: Mapping[str, Any]
    sources: Mapping[str, Path]
    violations: Sequence[Mapping[str, Any]]
    refused: Sequence[str]


def inspect(opa: Path, folders: PolicyFolders, meta: Path) -> Inspected:
    """Look into a policy; raise PolicyError where it cannot be read, or does not compile."""
    bundle = build_bundle(folders)
    with laid_out(opa, folders) as layout:
        if faults := _compile_faults(layout):
            raise PolicyError("; ".join(faults))
        trees = _trees(layout)
        violations = _violations(layout, meta, trees)
        return Inspected(bundle, trees, layout.sources, violations, _served_faults(opa, folders, bundle))


def _served_faults(opa: Path, folders: PolicyFolders, bundle: Bundle) -> list[str]:
    """Name what keeps the policy from being served: tenants' data, and answers that are none."""
    with TemporaryDirectory(prefix="countersign-bundle-") as folder:
        file = Path(folder) / "bundle.tar.gz"
        file.write_bytes(bundle.data)
        try:
            asyncio.run(vet_bundle(opa, bundle, file, folders.schemas))
        except PolicyError as error:
            return [f"{folders.core}: {problem}" for problem in str(error).split("; ")]
    return []


def faults_in(opa: Path, folders: PolicyFolders, meta: Path) -> list[str]:
    """Return every fault of a policy, one line each; `meta` is the file of the meta-policy."""
    try:
        bundle = build_bundle(folders)
    except PolicyError as error:
        return [str(error)]
    with laid_out(opa, folders) as layout:
        if faults := _compile_faults(layout):
            return faults  # all else relies on policies that compile
        return [
            *_served_faults(opa, folders, bundle),
            *_format_faults(layout),
            *_test_faults(layout),
            *_meta_faults(layout, meta),
        ]


def syntax_trees(opa: Path, folders: PolicyFolders) -> dict[str, Any]:
    """Return the syntax trees of a policy's files, without tests, by the names that they have in a bundle."""
    with laid_out(opa, folders) as layout:
        return _trees(layout)


def format_files(opa: Path, folders: PolicyFolders) -> list[Path]:
    """Format the files of a policy in place, and return those that changed; raise PolicyError where one has faults."""
    files = sorted(
        file for folder in (folders.core, *folders.rules_of_packs().values()) for file in folder.rglob("*.rego")
    )
    listed = _fmt(opa, "--list", files)  # which names what has faults before anything is written
    _fmt(opa, "--write", files)
    return [Path(line) for line in listed.splitlines() if line]


def _fmt(opa: Path, how: str, files: Sequence[Path]) -> str:
    command = [str(opa.absolute()), "fmt", how, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PolicyError(done.stderr.strip())
    return done.stdout


def formatted(opa: Path, text: str) -> str:
    """Return the text of a file as `opa fmt` has it; raise PolicyError where it is no Rego."""
    done = subprocess.run([str(opa.absolute()), "fmt"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PolicyError(done.stderr.strip())
    return done.stdout


def run_tests(opa: Path, folders: PolicyFolders, arguments: Sequence[str]) -> tuple[int, str]:
    """Run the policy's tests with arguments of `opa test`; return its status, and what it printed with our names."""
    with laid_out(opa, folders) as layout:
        done = layout.run(*_TEST, *arguments, ".")
        return done.returncode, "\n".join(map(layout.named, (done.stdout + done.stderr).splitlines()))
