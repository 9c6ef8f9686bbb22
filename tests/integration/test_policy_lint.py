"""Lint finds what is surely not meant: each planted mistake alone, and nothing in the shipped policies."""

import json
import shutil
from pathlib import Path

import pytest

from policy.bundle import PolicyFolders
from policy.checks import syntax_trees
from policy.errors import PolicyError
from policy.lint.rules import FEW, name_of
from policy.trace import rules_in
from runtime.store.database.migration import make_login
from runtime.store.schema import role_names
from tests.databases import superuser
from tests.files import DIRECTORY
from tests.integration.lint_mistakes import HIGH, PLANTED, URGENT, Edit, drop, put
from tests.integration.lint_stage import SHIPPED, give_passkeys, linted, load_people, record_rules
from tests.integration.program_stage import command
from tests.logins import as_program
from tests.opa_server import PACKS, POLICIES, copy_policies, edit_policy, opa_program

CONFIG = "countersign_config/acme/data.json"


@pytest.fixture
async def ready(dsn: str) -> str:
    """The DSN of a database with people enough, as the program logs in."""
    await load_people(dsn)
    await give_passkeys(dsn)
    return as_program(dsn)


def plant(folder: Path, edit: Edit) -> Path:
    """Return a copy of the shipped policies with an edited configuration."""
    file = copy_policies(folder / "rego") / CONFIG
    config = json.loads(file.read_text())
    edit(config)
    file.write_text(json.dumps(config, indent=2))
    return folder / "rego"


@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_mistake_is_found_and_nothing_else(ready: str, tmp_path: Path, name: str) -> None:
    edit, code, path = PLANTED[name]
    found = await linted(PolicyFolders(plant(tmp_path, edit), PACKS), ready)
    assert [(one.code, one.path) for one in found.findings] == [(code, path)]
    assert Path(found.findings[0].file).exists()


async def test_nothing_is_found_in_the_shipped_policies(ready: str) -> None:
    found = await linted(SHIPPED, ready)
    assert found.findings == []
    assert found.notes == ["left out, because no decision is on record: rules that never fired"]


async def test_a_flaw_of_the_meta_policy_is_found_by_file_and_line(ready: str, tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    edit_policy(policies, "countersign/tiers.rego", "# title: Tiers\n", "")
    [found] = (await linted(PolicyFolders(policies, PACKS), ready)).findings
    assert (found.code, found.file, found.line) == (
        "meta.package_undescribed",
        str(policies / "countersign/tiers.rego"),
        5,
    )


async def test_a_finding_has_the_line_of_its_member(ready: str, tmp_path: Path) -> None:
    policies = plant(tmp_path, put(*HIGH, "quorum", value=500))
    [found] = (await linted(PolicyFolders(policies, PACKS), ready)).findings
    assert (policies / CONFIG).read_text().splitlines()[found.line - 1] == '    "high": {'
    assert str(found).startswith(f"{policies / CONFIG}:{found.line}: requirements.high: nobody can ever meet it: ")


_NEVER_RECORDED = ("countersign/operator.rego", "meta.rego")


def shipped_names() -> dict[str, str]:
    """Return the names of all shipped rules that give a reason for a decision, with their codes."""
    trees = {name: tree for name, tree in syntax_trees(opa_program(), SHIPPED).items() if name not in _NEVER_RECORDED}
    rules = [rule for name, tree in trees.items() for rule in rules_in(name, tree) if rule.code]
    return {name_of(rule): rule.code for rule in rules}


async def test_a_rule_that_is_behind_no_decision_is_found(dsn: str, ready: str) -> None:
    missing = "countersign_pack.kyc.bloomberg.deny#bloomberg.identifier"
    await record_rules(dsn, sorted(shipped_names().keys() - {missing}))
    seen = await linted(SHIPPED, ready)
    [found], notes = seen.findings, seen.notes
    rego = POLICIES.parent / "packs/kyc/rego/bloomberg.rego"
    assert (found.code, found.path, found.file) == ("rule.never_fired", missing, str(rego))
    assert rego.read_text().splitlines()[found.line - 1].startswith("deny contains")
    assert notes == []
    assert found.says.startswith("“Another identifier” is behind none of the last 100 decisions")


async def test_guards_of_the_program_that_did_not_fire_are_a_note_unless_they_were_changed(
    dsn: str, ready: str, tmp_path: Path
) -> None:
    guard = "countersign.effect.tiers.deny#tiers.unknown"
    await record_rules(dsn, sorted(shipped_names().keys() - {guard}))
    shipped = await linted(SHIPPED, ready)
    assert (shipped.findings, [one for one in shipped.notes if "tiers.unknown" in one]) == ([], shipped.notes)
    policies = copy_policies(tmp_path / "rego")
    edit_policy(policies, "countersign/tiers.rego", "if not permitted", "if {\n\tnot permitted\n\tfalse\n}")
    [found] = (await linted(PolicyFolders(policies, PACKS), ready)).findings
    assert (found.code, found.path) == ("rule.never_fired", guard)


async def test_few_decisions_say_nothing_against_a_rule(dsn: str, ready: str) -> None:
    await record_rules(dsn, ["countersign.effect.tiers.deny#tiers.unknown"], FEW - 1)
    found = await linted(SHIPPED, ready)
    assert found.findings == []
    [note] = found.notes
    assert note.startswith("99 decisions are on record, and 100 are needed to judge rules; not fired so far: access.")


async def test_decisions_of_earlier_releases_name_their_rules_by_code(dsn: str, ready: str) -> None:
    await record_rules(dsn, sorted(shipped_names()))
    missing = "countersign_pack.kyc.bloomberg.deny#bloomberg.identifier"
    old = json.dumps({"answer": {"reasons": [{"code": "bloomberg.identifier", "msg": "no"}]}})
    with superuser(dsn) as conn:
        conn.execute("UPDATE policy_decisions SET document = %s WHERE decision_id = 'dec_0'", (old,))
        conn.execute("UPDATE policy_decisions SET document = replace(document::text, %s, 'x')::json", (missing,))
    assert (await linted(SHIPPED, ready)).findings == []


async def test_a_revoked_passkey_signs_nothing(dsn: str, ready: str) -> None:
    revoked = "revoked_at = now(), revoked_by = 'nobody', revoked_reason = 'lost'"
    with superuser(dsn) as conn:
        conn.execute(f"UPDATE passkeys SET {revoked} WHERE person NOT LIKE 'security-0'")
    [found] = (await linted(SHIPPED, ready)).findings
    assert (found.code, found.path) == ("people.passkeys", "requirements.access_vault.sign_with")


async def test_a_user_group_without_people_is_known_and_is_too_small(dsn: str, ready: str, tmp_path: Path) -> None:
    with superuser(dsn) as conn:
        conn.execute("""UPDATE directories SET usergroups = '{"groups": {"night": "S1"}, "emails": {}}'""")
    policies = plant(tmp_path, put(*URGENT, "groups", value=["night"]))
    [found] = (await linted(PolicyFolders(policies, PACKS), ready)).findings
    assert (found.code, found.path) == ("people.impossible", ".".join(URGENT))


async def test_people_without_an_active_account_count_for_nothing(dsn: str, ready: str) -> None:
    with superuser(dsn) as conn:
        conn.execute("DELETE FROM slack_accounts WHERE actor_id LIKE 'incident-managers-%'")
    [found] = (await linted(SHIPPED, ready)).findings
    assert (found.code, found.path) == ("people.impossible", "requirements.urgent_incident")


async def test_a_directory_of_one_person_a_group_is_too_small(dsn: str) -> None:
    """The directory of the demos has as few people as can be: lint says so of each requirement."""
    env = {"COUNTERSIGN_DIRECTORY_DATABASE_URL": dsn, "COUNTERSIGN_DATABASE_URL": dsn}
    assert (await command("people", "load", str(DIRECTORY), "--as", "omar", env=env)).code == 0
    found = {one.path: one.code for one in (await linted(SHIPPED, dsn)).findings}
    assert found == {
        "requirements.access_payments": "people.too_few",
        "requirements.access_vault.sign_with": "people.passkeys",
        "requirements.high": "people.too_few",
        "requirements.policy_activate": "people.too_few",
        "requirements.policy_rollback": "people.too_few",
        "requirements.urgent_incident": "people.too_few",
    }


async def test_a_login_that_can_only_read_is_enough(ready: str, dsn: str) -> None:
    assert (await linted(SHIPPED, make_login(dsn, "test_reader", role_names.READER))).findings == []


async def test_a_tenant_whose_directory_is_not_loaded_is_named(dsn: str, ready: str, tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    shutil.copytree(policies / "countersign_config/acme", policies / "countersign_config/globex")
    found = await linted(PolicyFolders(policies, PACKS), ready)
    assert found.findings == []
    assert (
        "left out, because the database has no directory of globex: groups, and people who are too few" in found.notes
    )


async def test_runbooks_that_cannot_be_loaded_are_noted(ready: str, tmp_path: Path) -> None:
    pack = shutil.copytree(PACKS[0].parent / "kyc", tmp_path / "kyc")
    (pack / "runbooks/kyc-onboarding.yaml").write_text("steps: [")
    found = await linted(PolicyFolders(POLICIES, (*(one for one in PACKS if one.name != "kyc"), pack)), ready)
    assert any("runbooks with problems" in one for one in found.notes)


async def test_packs_that_cannot_be_loaded_are_noted(ready: str) -> None:
    found = await linted(PolicyFolders(POLICIES, PACKS), ready, pack={"nobodys": {"url": "x"}})
    assert found.findings == []
    assert found.notes[0].startswith(
        "left out, because the packs cannot be loaded: operations that runbooks use (settings for 'nobodys', but no"
    )


async def test_a_policy_that_does_not_compile_cannot_be_looked_at(ready: str, tmp_path: Path) -> None:
    policies = copy_policies(tmp_path / "rego")
    edit_policy(policies, "countersign/tiers.rego", "input.effect.tier", "input.effect.teer")
    with pytest.raises(PolicyError, match=r"undefined ref: input\.effect\.teer"):
        await linted(PolicyFolders(policies, PACKS), ready)


def alone(tmp_path: Path, **more: str) -> dict[str, str]:
    """Return the environment of a command beside which nothing runs."""
    return {"COUNTERSIGN_OPA": str(opa_program()), "COUNTERSIGN_HOME": str(tmp_path / "home"), **more}


async def test_the_command_exits_with_one_if_anything_is_found_and_prints_lines_or_json(tmp_path: Path) -> None:
    policies = plant(tmp_path, drop("operators"))
    told = await command("policy", "lint", str(policies), env=alone(tmp_path))
    [line, note] = told.out.splitlines()
    assert (told.code, told.err) == (1, "")
    assert line.startswith(f"{policies / CONFIG}:1: operators: the tenant has no operators")
    assert line.endswith("(operators.none)")
    left_out = "left out, because no database is named: groups, and people who are too few; rules that never fired"
    assert note == f"note: {left_out}"
    document = json.loads((await command("policy", "lint", str(policies), "--json", env=alone(tmp_path))).out)
    assert [one["code"] for one in document["findings"]] == ["operators.none"]
    assert document["notes"] == [left_out]


async def test_the_command_says_what_an_unreachable_database_leaves_out(tmp_path: Path) -> None:
    env = alone(tmp_path, COUNTERSIGN_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    told = await command("policy", "lint", env=env)
    assert (told.code, told.err, told.out.splitlines()[0]) == (0, "", "nothing was found")
    assert "note: left out, because the database cannot be used: " in told.out


@pytest.mark.parametrize("named", ["none", "empty"])
async def test_the_command_exits_with_two_where_it_cannot_look(tmp_path: Path, named: str) -> None:
    (tmp_path / "empty").mkdir()
    told = await command("policy", "lint", str(tmp_path / named), env=alone(tmp_path))
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert told.err.startswith(f"countersign: {tmp_path / named}")


async def test_only_the_last_decisions_are_looked_at(dsn: str, ready: str, tmp_path: Path) -> None:
    await record_rules(dsn, ["countersign.effect.tiers.deny#tiers.unknown"], 3)
    older = json.dumps({"answer": {"rules": ["countersign.effect.duties.deny#duties.requester_unknown"]}})
    with superuser(dsn) as conn:
        conn.execute(
            "UPDATE policy_decisions SET document = %s, at = at - interval '1 day' WHERE decision_id = 'dec_1'",
            (older,),
        )
    env = alone(tmp_path, COUNTERSIGN_DATABASE_URL=ready)
    notes = [
        json.loads((await command("policy", "lint", "--last", last, "--json", env=env)).out)["notes"][0]
        for last in ("2", "3")
    ]
    assert [one.partition(" ")[0] for one in notes] == ["2", "3"]
    assert ["duties.requester_unknown" in one for one in notes] == [True, False]
