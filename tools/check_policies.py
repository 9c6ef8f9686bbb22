"""Check the policies: format, strict compilation, tests at full coverage, and the meta-policy. One line per failure."""

import json
import os
import subprocess
import sys
from pathlib import Path

from countersign.embedded.servers import OPA, find

META = Path(__file__).resolve().parents[1] / "rego" / "meta" / "meta.rego"


def find_opa() -> str:
    """Return the opa binary that COUNTERSIGN_OPA names, else the pinned one."""
    found = os.environ.get("COUNTERSIGN_OPA") or find(OPA)
    if found is None:
        sys.exit("opa is missing: run make check, which sets it up, or set COUNTERSIGN_OPA to its path")
    return str(found)


def run(opa: str, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run opa and return what it printed."""
    return subprocess.run([opa, *arguments], input=text, capture_output=True, text=True, check=False)


def lines_of(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what a failed command printed, without empty lines and summaries."""
    if result.returncode == 0:
        return []
    printed = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()]
    return printed or [f"{' '.join(result.args)} exits with {result.returncode}"]


def format_failures(opa: str, folder: Path) -> list[str]:
    """Name the files that `opa fmt` would change."""
    result = run(opa, "fmt", "--list", "--fail", str(folder))
    unformatted = result.stdout.split()
    return [f"{file}: not formatted, run opa fmt --write" for file in unformatted] or lines_of(result)


def compile_failures(opa: str, folder: Path) -> list[str]:
    """Name what the strict compiler refuses, with the input typed by its schema."""
    return lines_of(run(opa, "check", "--strict", "--bundle", "--schema", str(folder / "schemas"), str(folder)))


def test_failures(opa: str, folder: Path) -> list[str]:
    """Name the tests that do not pass or, where all do, the lines that no test reaches."""
    result = run(opa, "test", "--bundle", "--format", "json", str(folder))
    if not result.stdout.startswith("["):
        return lines_of(result)
    outcomes = json.loads(result.stdout)
    if not outcomes:
        return [f"{folder}: no tests were found"]
    bad = [test for test in outcomes if test.keys() & {"fail", "error", "skip"}]
    named = [f"{test['location']['file']}:{test['location']['row']}: {test['name']} does not pass" for test in bad]
    return named or coverage_failures(opa, folder)


def coverage_failures(opa: str, folder: Path) -> list[str]:
    """Name the lines that no test reaches; given a threshold, opa says only how many."""
    result = run(opa, "test", "--bundle", "--coverage", "--format", "json", str(folder))
    if result.returncode != 0:
        return lines_of(result)
    return [
        f"{file}:{span['start']['row']}: no test reaches this line"
        for file, lines in sorted(json.loads(result.stdout)["files"].items())
        for span in lines.get("not_covered", [])
    ]


def config_failures(opa: str, folder: Path) -> list[str]:
    """Name what is wrong with the tenants' configurations."""
    result = run(opa, "eval", "--bundle", str(folder), "--format", "raw", "data.countersign.effect.config.problems")
    return lines_of(result) or [f"{folder}/countersign_config: {problem}" for problem in json.loads(result.stdout)]


def meta_failures(opa: str, folder: Path) -> list[str]:
    """Name what the meta-policy demands and does not find."""
    files = [file for file in sorted(folder.rglob("*.rego")) if not file.name.endswith("_test.rego")]
    parsed = [run(opa, "parse", "--format", "json", "--json-include=-comments,locations", str(file)) for file in files]
    trees = json.dumps({"modules": [json.loads(result.stdout) for result in parsed]})
    result = run(opa, "eval", "--data", str(META), "--stdin-input", "--format", "raw", "data.meta.deny", text=trees)
    if result.returncode != 0:
        return lines_of(result)
    return [f"{found['file']}:{found['row']}: {found['msg']} ({found['code']})" for found in json.loads(result.stdout)]


# Each relies on policies that compile.
CHECKS = (format_failures, config_failures, test_failures, meta_failures)


def main(arguments: list[str]) -> int:
    """Check the folder that is named, else `rego`; return the exit code."""
    folder = Path(arguments[0] if arguments else "rego")
    if not folder.is_dir():
        sys.exit(f"{folder} is not a folder")
    opa = find_opa()
    failures = compile_failures(opa, folder) or [failure for check in CHECKS for failure in check(opa, folder)]
    print("\n".join(failures) or f"{folder}: policies are in order")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
