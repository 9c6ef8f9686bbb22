"""The check of the policies names each thing that is wrong, one line each, and fails."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from policy.bundle import PolicyFolders, build_bundle
from policy.checks import faults_in, format_files, run_tests
from policy.errors import PolicyError
from policy.vetting import vet_bundle
from tests.integration.limits_stage import limited_policies
from tests.opa_server import PACKS, POLICIES, copy_policies, opa_program
from tools.policy_schemas import schemas, text

DAY = {"days": ["mon"], "from": "09:00", "until": "17:00"}
Fault = tuple[str, str, str, str]
"""A file, what stands in it, what takes its place, and what is said of that."""

EFFECT = "countersign"
TIERS = f"{EFFECT}/tiers.rego"
CONFIGURATION = "countersign_config/acme/data.json"
RAISED = 'connectors.operation.tier == "medium"'
PERMITTED = "permitted if input.effect.tier in _"
UNREACHED = f"permitted if {{\n\tfalse\n\ttrue\n}}\n\n{PERMITTED}"
# What one check finds together: what does not compile is told alone, and lines are counted where every test passes.
CASES: dict[str, list[Fault]] = {
    "no Rego": [(TIERS, PERMITTED, "permitted if {", "rego_parse_error")],
    "no such member": [(TIERS, "input.effect.tier", "input.effect.teer", "undefined ref: input.effect.teer")],
    "all tests pass": [
        (TIERS, PERMITTED, UNREACHED, f"REGO/{TIERS}:35: no test reaches this line"),
        (TIERS, "# title: Tiers\n", "", f"REGO/{TIERS}:5: the package needs METADATA with title and description"),
    ],
    "a test fails": [
        (CONFIGURATION, '"quorum": 2', '"quorum": 0', "acme: requirements.high.quorum: Must be"),
        (TIERS, RAISED, RAISED.replace("medium", "high"), "test_configuration_raises_the_declared_tier does not pass"),
        (TIERS, "default effective := ", "default  effective  := ", f"REGO/{TIERS}: not formatted"),
        (TIERS, "# title: Permitted\n", "", "the public rule needs METADATA with title and description"),
        (TIERS, "tiers.unknown", "limits.writes_per_run", "the short_name is taken by another rule"),
        (TIERS, PERMITTED, f"permitted if time.now_ns() > 0\n\n{PERMITTED}", "(meta.impure)"),
    ],
    "no answer": [
        (
            f"{EFFECT}/approvals.rego",
            "reasons.of(rego.metadata.rule())} if",
            '{"code": ""}} if',
            "acme: register::file_",
        ),
    ],
}
SERVICENOW = "rego/servicenow.rego"
RULES = "countersign_pack.incident_triage.servicenow"
CASES_OF_PACKS: dict[str, list[Fault]] = {
    "no such member": [
        (SERVICENOW, "effect.fields.priority", "effect.feelds.priority", "servicenow.rego:16: rego_type_")
    ],
    "another package": [
        (SERVICENOW, f"package {RULES}", "package countersign.effect", "begins with `package countersign_pack.inc"),
    ],
    "all tests pass": [
        (
            SERVICENOW,
            "if not routine",
            "if not routine\n\nother if false",
            "servicenow.rego:31: no test reaches this line",
        ),
    ],
    "a test fails": [
        (
            SERVICENOW,
            "demand := {",
            "demanded :=  {",
            "the package countersign_pack.PACK.CONNECTOR needs a rule `demand`",
        ),
        (SERVICENOW, "demanded :=  {", "demanded :=   {", "servicenow.rego: not formatted"),
        (SERVICENOW, "# title: Routine\n", "", "servicenow.rego:15: the public rule needs METADATA with title and d"),
        (SERVICENOW, "incidents.urgent", "tiers.unknown", "the short_name is taken by another rule"),
    ],
    "no rule answers": [
        (
            SERVICENOW,
            '"urgent_incident", "reason"',
            '"urgent_incident", "raison"',
            "servicenow::assign: no rule answers",
        ),
    ],
}


def faults(folder: Path, *packs: Path) -> list[str]:
    return faults_in(opa_program(), PolicyFolders(folder, packs), POLICIES / "meta.rego")


def test_policies_of_this_repository_are_in_order() -> None:
    assert faults(POLICIES, *PACKS) == []


def spoil(folder: Path, faults: Sequence[Fault]) -> None:
    for name, old, new, _ in faults:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))


def each_is_named(lines: list[str], faults: Sequence[Fault]) -> bool:
    return all(any(said in line for line in lines) for *_, said in faults)


@pytest.mark.parametrize("name", CASES)
def test_each_fault_is_named_in_a_file_as_its_author_knows_it(tmp_path: Path, name: str) -> None:
    policies = copy_policies(tmp_path / "rego")
    spoil(policies, CASES[name])
    lines = faults(policies)
    assert each_is_named([line.replace(str(policies), "REGO") for line in lines], CASES[name]), lines
    assert not [line for line in lines if line.count(str(tmp_path)) > 1], "a folder's name stands once"


@pytest.mark.parametrize("name", CASES_OF_PACKS)
def test_each_fault_in_the_rules_of_a_pack_is_named(tmp_path: Path, name: str) -> None:
    pack = tmp_path / "incident-triage"
    shutil.copytree(POLICIES.parent / "packs/incident-triage/rego", pack / "rego")
    spoil(pack, CASES_OF_PACKS[name])
    lines = faults(POLICIES, pack)
    assert each_is_named(lines, CASES_OF_PACKS[name]), lines


def test_policy_without_tests_is_named(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    for file in policies.rglob("*_test.rego"):
        file.unlink()
    assert "no tests were found" in faults(policies)


def test_tests_are_run_by_their_names_and_the_one_that_fails_is_named_as_its_author_knows_it(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    folders = PolicyFolders(policies, ())
    code, said = run_tests(opa_program(), folders, ["--run", "tiers"])
    assert (code, said.startswith("PASS")) == (0, True)
    spoil(policies, [(TIERS, RAISED, RAISED.replace("medium", "high"), "")])
    code, said = run_tests(opa_program(), folders, ["--run", "tiers"])
    assert code
    assert f"{policies / EFFECT}/tiers_test.rego" in said


def test_files_are_formatted_in_place_and_named(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    text = (policies / TIERS).read_text()
    spoil(policies, [(TIERS, "default effective := ", "default   effective  := ", "")])
    folders = PolicyFolders(policies, ())
    assert format_files(opa_program(), folders) == [policies / TIERS]
    assert (policies / TIERS).read_text() == text
    assert format_files(opa_program(), folders) == []


def test_where_one_file_has_a_fault_none_is_formatted(tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    unformatted = f"{EFFECT}/approvals.rego"
    spoil(policies, [(unformatted, "import data", "import   data", ""), (TIERS, PERMITTED, "permitted if {", "")])
    text = (policies / unformatted).read_text()
    with pytest.raises(PolicyError, match=TIERS):
        format_files(opa_program(), PolicyFolders(policies, ()))
    assert (policies / unformatted).read_text() == text


def test_schemas_for_the_compiler_and_for_editors_are_those_of_the_contract_and_the_rules() -> None:
    for name, schema in schemas(opa_program()).items():
        assert (POLICIES / "schemas" / name).read_text(encoding="utf-8") == text(schema), name


LIMIT = {"comment": "c", "when": {"connector": ["payments"]}, "tier": "high"}


@pytest.mark.parametrize(
    ("limit", "fault"),
    [
        (
            {**LIMIT, "when": {"time": {"between": [DAY], "time_zone": "Mars/Olympus"}}},
            "acme.limits.one.when.time.time_zone: 'Mars/Olympus' is no time zone of the IANA database",
        ),
        (
            {**LIMIT, "execute": {"between": [DAY], "time_zone": "Europe/Oslow"}},
            "acme.limits.one.execute.time_zone: 'Europe/Oslow' is no time zone of the IANA database",
        ),
        (
            {**LIMIT, "when": {"agent": ["robot"]}, "execute": {"within": "P900D"}},
            "acme: payments::refund: answer",
        ),
        (
            {**LIMIT, "effective_from": "2031-01-01T00:00:00Z", "execute": {"within": "P900D"}},
            "acme: payments::refund: answer",
        ),
        ({**LIMIT, "when": {"runbook": ["b"]}, "requirement": "none"}, "limits.one.requirement: none is not among"),
    ],
)
async def test_a_limit_that_would_make_answers_invalid_is_found_before_it_is_served(
    tmp_path: Path, limit: dict[str, Any], fault: str
) -> None:
    bundle = build_bundle(PolicyFolders(limited_policies(tmp_path, {"one": limit}), PACKS))
    file = tmp_path / "bundle.tar.gz"
    file.write_bytes(bundle.data)
    with pytest.raises(PolicyError) as caught:
        await vet_bundle(opa_program(), bundle, file, POLICIES / "schemas")
    assert fault in str(caught.value)
