"""The check of the policies names each thing that is wrong, one line each, and fails."""

from pathlib import Path

import pytest

from tests.opa_server import POLICIES, copy_policies, opa_program
from tools import check_policies

EFFECT = "countersign/effect"
CASES = [
    (f"{EFFECT}/tiers.rego", "default effective := ", "default  effective  := ", "tiers.rego: not formatted"),
    (f"{EFFECT}/tiers.rego", "permitted if _", "permitted if {", "rego_parse_error"),
    (f"{EFFECT}/tiers.rego", "input.effect.tier", "input.effect.teer", "undefined ref: input.effect.teer"),
    (f"{EFFECT}/tiers.rego", '"high": 3', '"high": 0', "test_configuration_raises_the_declared_tier does not pass"),
    (
        f"{EFFECT}/tiers.rego",
        "permitted if _",
        "permitted if {\n\tfalse\n\ttrue\n}\n\npermitted if _",
        "no test reaches",
    ),
    (f"{EFFECT}/tiers.rego", "# title: Tiers\n", "", "the package needs METADATA with title and description"),
    (f"{EFFECT}/tiers.rego", "# title: Permitted\n", "", "the public rule needs METADATA with title and description"),
    (f"{EFFECT}/tiers.rego", "tiers.unknown", "limits.writes_per_run", "the short_name is taken by another rule"),
    (f"{EFFECT}/tiers.rego", "permitted if _", "permitted if time.now_ns() > 0\n\npermitted if _", "(meta.impure)"),
    ("countersign_config/acme/data.json", '"quorum": 2', '"quorum": 0', "acme: requirements.high.quorum: Must be"),
]


def checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    return check_policies.main([str(folder)]), capsys.readouterr().out.splitlines()


def test_policies_of_this_repository_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(POLICIES, capsys) == (0, [f"{POLICIES}: policies are in order"])


@pytest.mark.parametrize(("name", "old", "new", "said"), CASES)
def test_each_fault_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    old: str,
    new: str,
    said: str,
) -> None:
    file = copy_policies(tmp_path / "rego") / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    code, lines = checked(tmp_path / "rego", capsys)
    assert code == 1
    assert [line for line in lines if said in line]


def test_folder_without_tests_is_named(tmp_path: Path) -> None:
    assert check_policies.test_failures(str(opa_program()), tmp_path) == [f"{tmp_path}: no tests were found"]
