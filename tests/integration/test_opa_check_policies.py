"""The check of the policies names each thing that is wrong, one line each, and fails."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.opa_server import PACKS, POLICIES, copy_policies
from tools import check_policies

EFFECT = "countersign/effect"
CASES = [
    (f"{EFFECT}/tiers.rego", "permitted if _", "permitted if {", "rego_parse_error"),
    (f"{EFFECT}/tiers.rego", "input.effect.tier", "input.effect.teer", "undefined ref: input.effect.teer"),
    (f"{EFFECT}/tiers.rego", '"high": 3', '"high": 0', "test_configuration_raises_the_declared_tier does not pass"),
    (
        f"{EFFECT}/tiers.rego",
        "permitted if _",
        "permitted if {\n\tfalse\n\ttrue\n}\n\npermitted if _",
        "no test reaches",
    ),
    ("countersign_config/acme/data.json", '"quorum": 2', '"quorum": 0', "acme: requirements.high.quorum: Must be"),
    (
        f"{EFFECT}/approvals.rego",
        "reasons.of(rego.metadata.rule())} if",
        '{"code": ""}} if',
        "acme: register::file_report",
    ),
]
FORM = [
    ("default effective := ", "default  effective  := ", "tiers.rego: not formatted"),
    ("# title: Tiers\n", "", "the package needs METADATA with title and description"),
    ("# title: Permitted\n", "", "the public rule needs METADATA with title and description"),
    ("tiers.unknown", "limits.writes_per_run", "the short_name is taken by another rule"),
    ("permitted if _", "permitted if time.now_ns() > 0\n\npermitted if _", "(meta.impure)"),
]
RULES = "countersign_pack.incident_triage.servicenow"
CASES_OF_PACKS = [
    ("effect.fields.priority", "effect.feelds.priority", "servicenow.rego:16: rego_type_error: undefined ref"),
    ("if not routine", "if not routine\n\nother if false", "servicenow.rego:31: no test reaches this line"),
    ("demand := {", "demanded := {", "the package countersign_pack.PACK.CONNECTOR needs a rule `demand`"),
    ('"urgent_incident", "reason"', '"urgent_incident", "raison"', "acme: servicenow::assign: no rule answers"),
    (f"package {RULES}", "package countersign.effect", "begins with `package countersign_pack.incident_triage`"),
]
FORM_OF_PACKS = [
    ("demand := {", "demand :=  {", "servicenow.rego: not formatted"),
    ("# title: Routine\n", "", "servicenow.rego:15: the public rule needs METADATA with title and description"),
    ("incidents.urgent", "tiers.unknown", "the short_name is taken by another rule"),
]


def checked(folder: Path, capsys: pytest.CaptureFixture[str], *packs: Path) -> tuple[int, list[str]]:
    return check_policies.main([str(folder), *map(str, packs)]), capsys.readouterr().out.splitlines()


def test_policies_of_this_repository_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(POLICIES, capsys, *PACKS) == (0, [f"{POLICIES}: policies are in order"])


def spoil(file: Path, *faults: tuple[str, str, str]) -> None:
    text = file.read_text()
    for old, new, _ in faults:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def each_is_named(lines: list[str], *faults: tuple[str, str, str]) -> bool:
    return all(any(said in line for line in lines) for _, _, said in faults)


@pytest.mark.parametrize(
    ("name", "faults"), [*((name, (fault,)) for name, *fault in CASES), (f"{EFFECT}/tiers.rego", FORM)]
)
def test_each_fault_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, faults: Sequence[tuple[str, str, str]]
) -> None:
    spoil(copy_policies(tmp_path / "rego") / name, *faults)
    code, lines = checked(tmp_path / "rego", capsys)
    assert code == 1
    assert each_is_named(lines, *faults)
    assert not [line for line in lines if line.count(str(tmp_path)) > 1], "a folder's name stands once"


@pytest.mark.parametrize("faults", [*((fault,) for fault in CASES_OF_PACKS), FORM_OF_PACKS])
def test_each_fault_in_the_rules_of_a_pack_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], faults: Sequence[tuple[str, str, str]]
) -> None:
    pack = tmp_path / "incident-triage"
    shutil.copytree(POLICIES.parent / "packs/incident-triage/rego", pack / "rego")
    spoil(pack / "rego/servicenow.rego", *faults)
    code, lines = checked(POLICIES, capsys, pack)
    assert code == 1
    assert each_is_named(lines, *faults)


def test_file_is_named_as_its_author_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = copy_policies(tmp_path / "rego")
    file = policies / EFFECT / "tiers.rego"
    file.write_text(file.read_text() + "\nunreached if false\n")
    code, lines = checked(policies, capsys)
    assert code == 1
    assert {line.split(": ")[0] for line in lines} == {f"{file}:37"}, lines


def test_policy_without_tests_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = copy_policies(tmp_path / "rego")
    for file in policies.rglob("*_test.rego"):
        file.unlink()
    assert "no tests were found" in checked(policies, capsys)[1]
