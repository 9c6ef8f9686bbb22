"""Tools of the house: the layout's rules, guards that are taken away, and benchmarks.

The rules of the house hold for the whole tree, and each rule finds what breaks it.

`make mutants` finds each guard by its name, and says so where a test does not notice that one is gone.

The benchmark's pure parts: percentiles, the table with its ratios, what is written, and copies of rows.
"""

import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from setuptools import find_packages

from benchmarks import measures
from benchmarks.killed_worker import dip_of
from benchmarks.measures import (
    BEGIN,
    END,
    REPORTED,
    Figures,
    PageError,
    Party,
    less,
    page_with_figures,
    percentile,
    ratio,
    shown,
)
from benchmarks.parked_runs import Identity, expression, random_identity
from benchmarks.postgres import Reader
from benchmarks.stage import PARKED, parse
from tests.mutants.__main__ import ROOT, judge
from tests.mutants.guard import Guard
from tests.mutants.guards import GUARDS
from tests.mutants.planting import LostGuardError, find, sources
from tools import layout
from tools.layout import Source

CHECKOUT = Path(__file__).resolve().parents[2]

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
    return layout.python_sources(CHECKOUT)


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
    scripts = layout.scripts(CHECKOUT)
    folders = {str(Path(source.path).parent) for source in scripts}
    assert folders == {"edge", "evidence/browser", "sandbox/static"}
    assert [finding for source in scripts for finding in layout.sizes_within_limits(source)] == []


def test_no_file_names_a_home_folder_or_a_package_registry() -> None:
    files = list(layout.text_files(CHECKOUT))
    assert {"pyproject.toml", ".ci/run", "tools/layout.py"} <= {source.path for source in files}
    assert [finding for source in files for finding in layout.names_no_machine(source)] == []


def test_files_and_functions_are_small_as_a_rule(tree: list[Source]) -> None:
    lengths = [length for source in tree for _, _, length in source.functions]
    assert statistics.median(lengths) <= 10
    assert statistics.median(source.lines for source in tree) <= 200  # a file is a noun of the field: 80 to 300 lines


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock", "benchmarks/requirements.lock"])
def test_lock_file_carries_versions_and_hashes_and_no_addresses(lock: str) -> None:
    text = (CHECKOUT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    for block in text.replace("\\\n", "").splitlines():
        assert "==" in block
        assert "--hash=sha256:" in block


def test_import_contracts_are_kept() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    finished = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout


def test_every_package_is_one_of_the_wheel(tree: list[Source]) -> None:
    """What is not found works in a checkout and is missing where the program is installed."""
    found = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"][
        "find"
    ]
    packages = {
        name for where in found["where"] for name in find_packages(str(CHECKOUT / where), include=found["include"])
    }
    folders = {Path(source.path).parent for source in tree}
    packs = {".".join(folder.parts[2:]) for folder in folders if folder.parts[0] == "packs" and len(folder.parts) > 1}
    ours = {
        ".".join(folder.parts) for folder in folders if folder.parts[0] not in ("packs", "benchmarks", "tests", "tools")
    }
    assert packages == ours | packs | {"packs", "rego"}


SMALL = Guard("nobody signs twice", "may_sign", "person not in signed", "True", ("tests/test_signing.py",))
PROGRAM = "def may_sign(person: str, signed: set[str]) -> bool:\n    return person not in signed\n"
TEST = "from policy.signing import may_sign\n\n\ndef test_it() -> None:\n    assert {}\n"


@pytest.fixture(scope="module")
def program() -> list[Source]:
    """The sources of this program."""
    return sources(ROOT)


@pytest.fixture
def guarded_tree(tmp_path: Path) -> Path:
    """A program with one guard."""
    for folder in ("policy", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "policy/signing.py").write_text(PROGRAM)
    return tmp_path


def write_test(tree: Path, what: str) -> None:
    (tree / "tests/test_signing.py").write_text(TEST.format(what))


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: f"{guard.name}: {guard.rule}")
def test_the_code_of_each_guard_is_found_once(program: list[Source], guard: Guard) -> None:
    assert find(program, guard).source.text.count(guard.code) >= 1
    assert all((ROOT / test).is_file() for test in guard.tests)


def test_a_guard_whose_code_is_gone_is_named(program: list[Source]) -> None:
    with pytest.raises(LostGuardError, match="consume: its code is found 0 times"):
        find(program, replace(GUARDS[0], name="consume", code="AND it is not there"))


def test_a_guard_whose_code_is_found_twice_is_named(guarded_tree: Path) -> None:
    (guarded_tree / "policy/copy.py").write_text(PROGRAM)
    assert "found 2 times" in judge(guarded_tree, [SMALL])[0]


def test_a_break_that_a_test_notices_counts(guarded_tree: Path) -> None:
    write_test(guarded_tree, 'not may_sign("ann", {"ann"})')
    assert judge(guarded_tree, [SMALL]) == []


def test_a_break_that_no_test_notices_is_a_survivor(guarded_tree: Path) -> None:
    write_test(guarded_tree, 'may_sign("ann", set())')
    assert judge(guarded_tree, [SMALL]) == ["SURVIVED  may_sign: nobody signs twice"]


def test_tests_that_fail_with_the_guard_in_place_prove_nothing(guarded_tree: Path) -> None:
    write_test(guarded_tree, 'may_sign("ann", {"ann"})')
    assert judge(guarded_tree, [SMALL]) == ["with every guard in place its tests do not pass"]


def test_a_break_after_which_nothing_can_be_imported_proves_nothing(guarded_tree: Path) -> None:
    write_test(guarded_tree, 'not may_sign("ann", {"ann"})')
    (said,) = judge(guarded_tree, [replace(SMALL, without="]")])
    assert said.startswith("unjudged (pytest ended with 2)")


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0)) == (50.0, 99.0, 100.0)
    assert percentile([7.0], 0.5) == 7.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_of_two_runs_of_a_peer_the_better_one_counts() -> None:
    figures = Figures()
    for rate, wait in ((700.0, 40.0), (650.0, 36.0)):
        figures.put(measures.STEPS_OPA, Party.DBOS, rate)
        figures.put(measures.SEQUENTIAL, Party.DBOS, wait)
    assert figures.get(measures.STEPS_OPA, Party.DBOS) == 700.0
    assert figures.get(measures.SEQUENTIAL, Party.DBOS) == 36.0


def test_the_report_has_each_measure_and_each_party_and_null_where_nothing_was_measured() -> None:
    figures = Figures()
    figures.put(measures.STEPS_OPA, Party.OURS, 145.678)
    figures.put(less("other", "something else", "ms"), Party.OURS, 1.0)
    report = figures.report()
    assert list(report) == [measure.name for measure in REPORTED]
    assert report["governed_steps_opa"] == {
        "ours": 145.7,
        "dbos": None,
        "restate": None,
        "limit": None,
        "unit": "steps/s",
    }


def test_the_table_shows_ratios_and_a_dash_where_there_is_none() -> None:
    figures = Figures()
    figures.put(measures.STEPS_OPA, Party.OURS, 145.0)
    figures.put(measures.STEPS_OPA, Party.DBOS, 748.0)
    figures.put(less("other", "something else", "ms"), Party.OURS, 1.0)
    head, _, *rows = figures.table().splitlines()
    assert len({len(line) for line in (head, *rows)}) == 1
    assert len(rows) == len(REPORTED) + 1
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert cells == ["governed steps, real OPA", "steps/s", "145", "748", "-", "-", "0.194", "-", "-"]


def test_a_ratio_needs_both_figures() -> None:
    assert ratio(1.0, 4.0) == 0.25
    assert ratio(None, 4.0) is ratio(1.0, None) is ratio(1.0, 0.0) is None


def test_a_rate_is_back_with_the_first_good_second_after_the_worst_one() -> None:
    at_ten = [number / 10 + 0.05 for number in range(-50, 0)]
    worse = [number / 5 + 0.05 for number in range(20)]  # five a second for four seconds
    again = [4.05 + number / 10 for number in range(50)]
    dip = dip_of([*at_ten, *worse, *again], before=5.0, within=3.0, share=0.9)
    assert (dip.before, dip.lowest) == (10.0, 5)
    assert dip.back == pytest.approx(4.9, abs=0.11)
    assert dip_of([*at_ten, *worse], before=5.0, within=3.0, share=0.9).back is None


def test_figures_are_shown_with_about_three_digits() -> None:
    assert [shown(figure) for figure in (None, 26_113.4, 145.6, 18.24, 3.66, 0.2134)] == [
        *("-", "26,113", "146", "18.2", "3.66", "0.213"),
    ]


def test_only_what_stands_between_the_marks_is_written() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert page_with_figures(page, "new\n") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert page_with_figures(page_with_figures(page, "new"), "new") == page_with_figures(page, "new")
    with pytest.raises(PageError, match="end of figures"):
        page_with_figures(f"{BEGIN} and no end", "new")


def test_a_copy_differs_in_its_identities_and_in_nothing_else() -> None:
    run = random_identity("run_0123456789abcdef01234567", 0)
    sql = expression('{"run": "run_0123456789abcdef01234567", "who": "it\'s me"}', [run])
    assert sql.startswith("'{{\"run\": \"' || 'run_' || left(md5('0:' || n)")
    assert sql.endswith('24) || \'", "who": "it\'\'s me"}}\'')
    assert expression(None, [run]) == "NULL"
    assert expression("", [run]) == "''"


def test_an_identity_within_another_does_not_break_it() -> None:
    long, short = Identity("case-17:ask", "A"), Identity("case-17", "B")
    assert expression("x:case-17:ask and case-17", [short, long]) == "'x:' || A || ' and ' || B"


def test_sizes_are_options_and_a_quick_run_is_small() -> None:
    assert parse([]).parked == PARKED
    assert parse(["--parked", "500", "10"]).parked == (10, 500)
    assert max(parse(["--quick"]).parked) < max(PARKED)
    only = parse(["--only", "steps"])
    assert (only.wants("steps"), only.wants("parked"), parse([]).wants("parked")) == (True, False, True)


def test_statements_are_counted_on_the_wire_and_transaction_control_is_not() -> None:
    said = b"\0\0\0\x08\0\x03\0\0"  # the first message, which has no letter
    said += _message(b"Q", b"BEGIN\0") + _message(b"Q", b"SELECT now()\0")
    said += _message(b"P", b"s1\0UPDATE runs SET x = $1\0\0\0") + _message(b"B", b"\0s1\0\0\0") + _message(b"E", b"\0")
    said += _message(b"B", b"\0s1\0\0\0") + _message(b"E", b"\0") + _message(b"S", b"") + _message(b"Q", b"COMMIT\0")
    whole, drip = Reader(Counter()), Reader(Counter())
    whole.feed(said)
    for byte in said:
        drip.feed(bytes([byte]))
    assert whole.counts == drip.counts == {"SELECT now()": 1, "UPDATE runs SET": 2}


def _message(letter: bytes, body: bytes) -> bytes:
    return letter + (len(body) + 4).to_bytes(4, "big") + body


def test_the_measures_are_those_that_the_table_promises() -> None:

    assert {measure.name for measure in REPORTED} == {
        *("governed_steps_opa", "governed_steps_instant", "sequential_ten_p50_ms", "resume_p50_ms", "resume_p99_ms"),
        *("bulk_resume_per_s", "parked_slowdown", "parked_bytes", "restart_s", "clicks_per_s"),
        *("statements_per_step", "commits_per_step", "cpu_us_per_step", "all_in_ended", "all_in_sealed"),
        *(f"all_in_{owner}_us_per_run" for owner in ("edge", "workers", "postgres", "opa", "minio")),
        *("triggers_per_s", "triggers_batch_per_s", "parks_per_s", "click_statements", "card_p50_ms"),
        *("click_call_p50_ms", "cli_help_s", "cli_list_s"),
    }
