"""The rules of the house hold for the whole tree, and each rule finds what breaks it."""

import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from setuptools import find_packages

from tools import layout
from tools.layout import Source

ROOT = Path(__file__).resolve().parents[2]

Rule = Callable[[Source], Iterator[str]]

PYTHON_RULES: list[Rule] = [
    layout.sql_only_in_store,
    layout.clock_read_in_one_place,
    layout.clock_is_handed_in,
    layout.sizes_within_limits,
]

BREACHES: list[tuple[Rule, str, str]] = [
    (layout.sql_only_in_store, "runtime/gate/passage.py", 'x = "SELECT id\\nFROM runs"'),
    (layout.sql_only_in_store, "evidence/build.py", 'x = f"delete from {table}"'),
    (layout.sql_only_in_store, "countersign/doctor/doctor.py", 'run("UPDATE runs SET status = %s")'),
    (layout.clock_read_in_one_place, "bot/views/card.py", "import datetime\nx = datetime.datetime.now(tz)"),
    (layout.clock_read_in_one_place, "bot/views/card.py", "from datetime import datetime as d\nx = d.utcnow()"),
    (layout.clock_read_in_one_place, "tools/lock.py", "from time import time\nx = time()"),
    (layout.clock_read_in_one_place, "policy/client.py", "import time as t\nread = t.time_ns"),
    (layout.clock_is_handed_in, "bot/x.py", "from runtime.clock import utc_now as now\ndef f(*, clock=now): pass"),
    (layout.clock_is_handed_in, "bot/x.py", "from runtime import clock\ndef f(a, clock=clock.utc_now): pass"),
    (layout.sizes_within_limits, "tests/unit/test_x.py", "x = 1\n" * 401),
    (layout.sizes_within_limits, "bot/views/card.py", "async def f():\n" + "    x = 1\n" * 60),
    (layout.sizes_within_limits, "sandbox/static/x.js", "let x = 1;\n" * 401),
    (layout.sizes_within_limits, "sandbox/static/x.js", "function f() {\n" + "  x = {\n  };\n" * 30 + "}\n"),
    (layout.sizes_within_limits, "sandbox/static/x.js", "export async function f() {\n" + "  x();\n" * 59 + "}\n"),
    (layout.sizes_within_limits, "sandbox/static/x.js", "const f = async (x) => {\n" + "  x();\n" * 59 + "};\n"),
    (layout.sizes_within_limits, "sandbox/static/x.js", "class A {\n  #f() {\n" + "    x();\n" * 59 + "  }\n}\n"),
    (layout.names_no_machine, "README.md", "see /" + "home/ada/notes"),
    (layout.names_no_machine, "Dockerfile", "pip install -" + "i https://example.org/simple"),
]

ALLOWED: list[tuple[Rule, str, str]] = [
    (layout.sql_only_in_store, "runtime/store/runs.py", 'x = "SELECT id FROM runs"'),
    (layout.sql_only_in_store, "bot/views/card.py", 'def f():\n    """SELECT x FROM y is not ours."""'),
    (layout.sql_only_in_store, "bot/views/card.py", 'x = "Select a channel from the list, or update it"'),
    (layout.clock_read_in_one_place, "runtime/clock.py", "import datetime\nx = datetime.datetime.now(tz)"),
    (layout.clock_read_in_one_place, "bot/views/card.py", "import time\nx = time.monotonic()\ny = run.time.time()"),
    (layout.clock_is_handed_in, "bot/x.py", "from runtime.clock import utc_now\ndef f(clock): return utc_now()"),
    (layout.sizes_within_limits, "bot/views/card.py", "def f():\n" + "    x = 1\n" * 59),
    (layout.sizes_within_limits, "sandbox/static/x.js", "function f() {\n" + "  x();\n" * 58 + "}\n" + "x();\n" * 340),
    (layout.names_no_machine, "README.md", "kept in ~/.cache/countersign, or /srv/home"),
]


@pytest.fixture(scope="module")
def tree() -> list[Source]:
    """Every Python file of ours."""
    return layout.python_sources(ROOT)


@pytest.mark.parametrize(("rule", "path", "text"), BREACHES)
def test_rule_finds_what_breaks_it(rule: Rule, path: str, text: str) -> None:
    found = list(rule(Source(path, text)))
    assert len(found) == 1
    assert found[0].startswith(path)


@pytest.mark.parametrize(("rule", "path", "text"), ALLOWED)
def test_rule_lets_pass_what_is_allowed(rule: Rule, path: str, text: str) -> None:
    assert not list(rule(Source(path, text)))


@pytest.mark.parametrize("rule", PYTHON_RULES)
def test_every_source_file_keeps_the_rule(tree: list[Source], rule: Rule) -> None:
    assert len(tree) > len(layout.CODE)
    assert [finding for source in tree for finding in rule(source)] == []


def test_every_script_keeps_the_limits_of_sizes() -> None:
    scripts = layout.scripts(ROOT)
    folders = {str(Path(source.path).parent) for source in scripts}
    assert folders == {"edge/routes", "evidence/page/verifier", "sandbox/static"}
    assert [finding for source in scripts for finding in layout.sizes_within_limits(source)] == []


def test_no_file_names_a_home_folder_or_a_package_registry() -> None:
    files = list(layout.text_files(ROOT))
    assert {"pyproject.toml", ".ci/run", "tools/layout.py"} <= {source.path for source in files}
    assert [finding for source in files for finding in layout.names_no_machine(source)] == []


def test_files_and_functions_are_small_as_a_rule(tree: list[Source]) -> None:
    lengths = [length for source in tree for _, _, length in source.functions]
    assert statistics.median(lengths) <= 10
    assert statistics.median(source.lines for source in tree) <= 150


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock", "benchmarks/requirements.lock"])
def test_lock_file_carries_versions_and_hashes_and_no_addresses(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    for block in text.replace("\\\n", "").splitlines():
        assert "==" in block
        assert "--hash=sha256:" in block


def test_import_contracts_are_kept() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout


def test_every_package_is_one_of_the_wheel(tree: list[Source]) -> None:
    """What is not found works in a checkout and is missing where the program is installed."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"][
        "find"
    ]
    packages = {name for where in found["where"] for name in find_packages(str(ROOT / where), include=found["include"])}
    folders = {Path(source.path).parent for source in tree}
    packs = {".".join(folder.parts[2:]) for folder in folders if folder.parts[0] == "packs" and len(folder.parts) > 1}
    ours = {
        ".".join(folder.parts) for folder in folders if folder.parts[0] not in ("packs", "benchmarks", "tests", "tools")
    }
    assert packages == ours | packs | {"packs", "rego"}
