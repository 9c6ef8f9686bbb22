"""`make mutants` finds each guard by its name, and says so where a test does not notice that one is gone."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, judge
from tests.mutants.guards import GUARDS, Guard
from tests.mutants.planting import LostGuardError, find, sources
from tools.layout import Source

SMALL = Guard("nobody signs twice", "may_sign", "person not in signed", "True", ("tests/test_signing.py",))
PROGRAM = "def may_sign(person: str, signed: set[str]) -> bool:\n    return person not in signed\n"
TEST = "from policy.signing import may_sign\n\n\ndef test_it() -> None:\n    assert {}\n"


@pytest.fixture(scope="module")
def program() -> list[Source]:
    """The sources of this program."""
    return sources(ROOT)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
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


def test_a_guard_whose_code_is_found_twice_is_named(tree: Path) -> None:
    (tree / "policy/copy.py").write_text(PROGRAM)
    assert "found 2 times" in judge(tree, [SMALL])[0]


def test_a_break_that_a_test_notices_counts(tree: Path) -> None:
    write_test(tree, 'not may_sign("ann", {"ann"})')
    assert judge(tree, [SMALL]) == []


def test_a_break_that_no_test_notices_is_a_survivor(tree: Path) -> None:
    write_test(tree, 'may_sign("ann", set())')
    assert judge(tree, [SMALL]) == ["SURVIVED  may_sign: nobody signs twice"]


def test_tests_that_fail_with_the_guard_in_place_prove_nothing(tree: Path) -> None:
    write_test(tree, 'may_sign("ann", {"ann"})')
    assert judge(tree, [SMALL]) == ["with every guard in place its tests do not pass"]


def test_a_break_after_which_nothing_can_be_imported_proves_nothing(tree: Path) -> None:
    write_test(tree, 'not may_sign("ann", {"ann"})')
    (said,) = judge(tree, [replace(SMALL, without="]")])
    assert said.startswith("unjudged (pytest ended with 2)")
