"""Why policy decided so: the rules behind an answer, those that came near, and what both read."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.cli.policy_view import answer_lines
from countersign.embedded.opa import OpaChild
from evidence import replay
from policy.answer import parse_answer
from policy.bundle import CONFIG_FILE, read_policy, write_files
from policy.confined import DESK
from policy.contract import Question
from policy.errors import PolicyError
from policy.explain import FORBIDDEN, Explanation, RuleSeen, explain
from policy.keys import load_or_create
from policy.vetting import sample_question
from tests.bench import Bench
from tests.integration.first_version import install_first
from tests.integration.policies_stage import filing
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.opa_server import SHIPPED, opa_program

TEXT = read_policy(SHIPPED).files
LIMITS = "countersign/limits.rego"


def asked(**changes: Any) -> dict[str, Any]:
    """Return a question about a filing, with other members."""
    question = sample_question("acme", "register", "file_report", "register:1", "high", "2026-01-05T10:00:00Z")
    return {**question.model_dump(mode="json"), **changes}


async def why(question: Mapping[str, Any], files: Mapping[str, str] = TEXT) -> Explanation:
    return await explain(opa_program(), files, question)


async def behind_it(question: Mapping[str, Any], files: Mapping[str, str] = TEXT) -> Explanation:
    """Explain without trying what came near: each such rule is one more evaluation, and tests of others need none."""
    return await explain(opa_program(), files, question, replace(DESK, near=0.0))


def named(seen: RuleSeen) -> tuple[str, str]:
    return seen.rule.path.removeprefix("data.countersign.effect."), seen.fault.text if seen.fault else ""


async def test_the_rule_behind_a_reason_is_named_with_its_line_and_with_what_it_read() -> None:
    found = await behind_it(asked())
    assert found.answer["outcome"] == "needs_approval"
    [rule] = [one for one in found.gave if one.rule.code == "writes.high_tier"]
    line = TEXT[rule.rule.place.file].splitlines()[rule.rule.place.row - 1]
    assert rule.rule.title == "High tier"
    assert line.startswith("demand :=")
    assert rule.reads == {"tiers.effective": "high", "input.effect.connector": "register"}


def incident(**effect: Any) -> dict[str, Any]:
    """Return a question that a pack has rules for."""
    question = sample_question("acme", "servicenow", "assign", "incident:1", "medium", "2026-01-05T10:00:00Z")
    return change(question.model_dump(mode="json"), effect)


def change(question: dict[str, Any], effect: Mapping[str, Any]) -> dict[str, Any]:
    return {**question, "effect": {**question["effect"], **effect}}


SIGNED = {
    "approval": {"requested_at": "2026-01-05T09:00:00Z", "expires_at": "2026-01-05T17:00:00Z"},
    "votes": [
        {"person": person, "groups": ["compliance"], "verdict": "approve", "at": "2026-01-05T09:30:00Z"}
        for person in ("bob", "cyd")
    ],
}


@pytest.mark.parametrize(
    ("question", "rules"),
    [
        (asked(), {"approvals.demand#writes.high_tier", "config:high"}),
        (change(asked(), {"reads": True}), {"approvals.demand#reads.high_tier", "config:high"}),
        (asked(**SIGNED), {"approvals.signed#approvals.fulfilled"}),
        (incident(), {"incident_triage.servicenow.demand#incidents.urgent", "config:urgent_incident"}),
        (incident(operation="add_work_note", tier="low"), set()),
        (asked(tenant="nobody"), {"config.deny#config.tenant_unknown"}),
        (
            change(asked(counters={"writes": 60}), {"target": "elsewhere", "tier": "none"}),
            {"connectors.deny#connectors.target", "limits.deny#limits.writes_per_run", "tiers.deny#tiers.unknown"},
        ),
        (
            change(incident(), {"connector": "access", "operation": "grant", "target": "system:none"}),
            {
                "access_request.access.deny#access.for_another",
                "access_request.access.deny#access.too_long",
                "approvals.deny#approvals.requirement_missing",
            },
        ),
    ],
    ids=["a write", "a read", "signed", "a pack", "nobody", "a tenant", "denials", "denials of a pack"],
)
async def test_an_answer_names_the_rules_behind_it_as_they_stand_in_the_text(
    question: dict[str, Any], rules: set[str]
) -> None:
    found = await behind_it(question)
    config = json.loads(TEXT[CONFIG_FILE])
    stated = {
        f"countersign_config.acme.requirements.{name}": f"config:{name}" for name in config["acme"]["requirements"]
    }
    gave = {f"{one.rule.path}#{one.rule.code}".removeprefix("data."): one for one in found.gave if one.rule.code}
    short = {name: re.sub(r"^countersign(\.effect|_pack)\.", "", name) for name in gave} | stated
    assert {short[name] for name in found.answer.get("rules", ())} == rules
    assert parse_answer(found.answer, "answer")


async def test_a_rule_comes_near_if_all_but_one_of_its_conditions_hold() -> None:
    few, many = await why(asked()), await why(asked(counters={"writes": 60}))
    assert (few.answer["outcome"], many.answer["outcome"]) == ("needs_approval", "deny")
    below = "input.counters.writes < config.tenant.writes_per_run"
    assert ("limits.permitted", below) not in map(named, few.near)
    [near] = [one for one in many.near if named(one) == ("limits.permitted", below)]
    assert near.rule.place.file == LIMITS
    assert near.reads == {"input.counters.writes": 60, "config.tenant.writes_per_run": 60}


async def test_a_rule_of_which_two_conditions_do_not_hold_did_not_come_near() -> None:
    found = await why(asked(counters={"writes": -1}, tenant="nobody"))
    assert [one for one in map(named, found.near) if one[0] == "limits.permitted" and "writes" in one[1]] == []


def changed(rule: str) -> dict[str, str]:
    """Return the policies with a rule of limits that nothing asks for but `permitted`."""
    more = f"\npermitted if odd\n\nodd if {{\n{rule}\n}}\n"
    return {**TEXT, LIMITS: TEXT[LIMITS] + more}


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ('\tinput.step == "x"\n\tinput.tenant == "acme"', 'input.step == "x"'),
        ('\tinput.tenant == "acme"\n\tinput.step == "x"', 'input.step == "x"'),
        ('\tinput.step == "x"\n\tinput.tenant == "other"', None),
        ('\tstep := input.nothing\n\tstep == "x"', None),
        ('\tsome vote in input.votes\n\tvote.at == "x"', None),
        ('\tnot input.tenant == "acme"\n\tinput.step == ""', None),
        ('\t"ø" == "ø"; input.step == "x"', 'input.step == "x"'),
        ('\tcount([one |\n\t\tsome one in input.votes\n\t]) > 0\n\tinput.tenant == "acme"', "count([one |"),
    ],
    ids=["the first", "the last", "two", "a name", "a choice", "a negation", "behind other letters", "over lines"],
)
async def test_the_condition_that_did_not_hold_is_named_and_what_stands_behind_it_is_tried(
    rule: str, fault: str | None
) -> None:
    found = await why(asked(counters={"writes": 60}), changed(rule))
    odd = [one for one in found.near if one.rule.path.endswith(".odd")]
    assert [one.fault.text.partition("\n")[0] for one in odd if one.fault] == ([] if fault is None else [fault])


@pytest.mark.parametrize(
    "builtin",
    [
        'http.send({"method": "get", "url": "http://127.0.0.1:1"}).status_code == 200',
        'net.lookup_ip_addr("localhost")',
        'opa.runtime().env.HOME == "x"',
        "time.now_ns() > 0",
    ],
)
async def test_a_policy_that_reaches_out_is_asked_nothing(builtin: str) -> None:
    with pytest.raises(PolicyError, match="undefined function"):
        await why(asked(), changed(f"\t{builtin}"))


async def test_what_cannot_be_read_is_left_out_and_the_rest_is_shown() -> None:
    broken = "broken := to_number(input.tenant)"
    rule = f'\tbroken > 0 with input.tenant as "7"\n}}\n\n{broken}\n\nodder if {{\n\tinput["a b"] == 1'
    found = await behind_it(asked(counters={"writes": 60}), changed(rule))
    read = {one.rule.code or one.rule.path.rpartition(".")[2]: one.reads for one in found.gave}
    assert (read["odd"], read["writes.high_tier"]["tiers.effective"]) == ({}, "high")


async def test_what_stands_behind_an_else_is_a_rule_of_its_own() -> None:
    rule = 'odd if {\n\tinput.step == "x"\n} else := true if {\n\tinput.step == "y"\n}'
    files = {**TEXT, LIMITS: f"{TEXT[LIMITS]}\npermitted if odd\n\n{rule}\n"}
    found = await why(asked(counters={"writes": 60}), files)
    assert {text for name, text in map(named, found.near) if name == "limits.odd"} == {
        'input.step == "x"',
        'input.step == "y"',
    }


async def test_a_file_that_would_stand_outside_its_folder_is_written_nowhere(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="this name cannot be stored"):
        write_files(tmp_path / "in", {"good.rego": "", "../out.rego": ""})
    assert list(tmp_path.iterdir()) == []


def test_replay_and_explanations_do_without_the_same_of_opa() -> None:
    assert FORBIDDEN == replay.FORBIDDEN


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return {**environment(settings_of(dsn, opa.url, tmp_path)), "COUNTERSIGN_OPA": str(opa_program())}


async def said(env: dict[str, str], *words: str) -> Finished:
    return await command("policy", *words, env=env)


async def test_a_recorded_decision_is_explained_by_its_id_and_by_what_it_is_about(
    bench: Bench, env: dict[str, str]
) -> None:
    run_id, approval_id = await filing(bench, "ACME")
    query = "SELECT d.decision_id, a.effect_id FROM approvals a JOIN policy_decisions d USING (run_id, effect_id)"
    [row] = await bench.rows(f"{query} WHERE run_id = %s", run_id)
    told = [await said(env, "explain", id_) for id_ in (row["decision_id"], row["effect_id"], approval_id, run_id)]
    assert {one.code for one in told} == {0}
    assert len({one.out for one in told}) == 1
    text = told[0].out
    assert "asked again, the policy answers the same" in text
    behind = text.partition("Behind the answer\n")[2].splitlines()
    assert behind[0].startswith("  High tier (writes.high_tier)  countersign/approvals.rego:")
    assert behind[1:4] == [
        '    tiers.effective = "high"',
        '    input.effect.connector = "register"',
        "  countersign_config.acme.requirements.high",
    ]
    document = json.loads((await said(env, "explain", run_id, "--json")).out)
    assert document["decision"]["id"] == row["decision_id"]
    assert "writes.high_tier" in [one["code"] for one in document["rules"]["fired"]]
    assert document["decision"]["answer"]["rules"] == [
        "countersign.effect.approvals.demand#writes.high_tier",
        "countersign_config.acme.requirements.high",
    ]


async def test_the_policy_that_decided_is_named_by_its_version_and_as_one_for_development(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    text = read_policy(SHIPPED)

    async def policy_line(id_: str) -> str:
        lines = (await said(env, "explain", id_)).out.splitlines()
        return next(line for line in lines if line.startswith("policy "))

    before, _ = await filing(bench, "before")
    assert await policy_line(before) == f"policy {text.digest}, for development: nobody had activated it"
    bench.engine.kept_texts.clear()
    async with bench.engine.pool.connection() as conn:
        await install_first(conn, text, load_or_create(tmp_path / "policy.pem"), bench.clock())
    after, _ = await filing(bench, "after")
    assert await policy_line(after) == f"policy version 1, {text.digest}"
    assert await policy_line(before) == f"policy version 1, {text.digest}, for development: nobody had activated it"
    assert json.loads((await said(env, "explain", after, "--json")).out)["version"] == 1


async def test_nothing_is_said_of_the_policy_of_a_decision_of_a_release_before_versions(
    bench: Bench, env: dict[str, str]
) -> None:
    run_id, _ = await filing(bench, "ACME")
    await bench.meddle("UPDATE policy_decisions SET document = (document::jsonb - 'development')::json")
    assert f"\npolicy {read_policy(SHIPPED).digest}\n" in (await said(env, "explain", run_id)).out
    assert json.loads((await said(env, "explain", run_id, "--json")).out)["version"] is None


async def test_what_is_behind_an_answer_goes_by_the_rules_that_it_names_or_else_by_its_codes() -> None:
    found = await behind_it(asked())
    other = {**found.answer, "rules": ["countersign.effect.other.demand#writes.high_tier"]}
    unnamed = {name: value for name, value in found.answer.items() if name != "rules"}
    assert behind(found.answer, found) == ["High tier", "countersign_config.acme.requirements.high"]
    assert behind(other, found) == ["countersign.effect.other.demand#writes.high_tier"]
    assert behind(unnamed, found) == ["High tier"]


def behind(answer: Mapping[str, Any], found: Explanation) -> list[str]:
    """Return the titles and names under the heading, of an explanation of this answer."""
    lines = answer_lines("", Question.model_validate(asked()), replace(found, answer=answer), None, None)
    section = lines[lines.index("Behind the answer") + 1 :]
    return [line.strip().partition(" (")[0] for line in section[: section.index("")] if not line.startswith("    ")]


@pytest.mark.parametrize("id_", ["dec_0", "apr_0", "run_0", "eff_0", "nonsense"])
async def test_a_decision_that_is_not_there_is_said_so(bench: Bench, env: dict[str, str], id_: str) -> None:
    found = await said(env, "explain", id_)
    assert (found.code, found.out) == (1, "")
    assert f"there is no decision {id_}" in found.err


async def test_the_policy_and_the_question_are_written_for_an_editor_and_nothing_is_overwritten(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    run_id, _ = await filing(bench, "ACME")
    folder = tmp_path / "case"
    line = (await said(env, "explain", run_id, "--edit", str(folder))).out
    assert line.split()[:4] == ["opa", "eval", "--bundle", str(folder)]
    question = json.loads((folder / "input.json").read_text())
    assert question["effect"]["operation"] == "file_report"
    assert {name: (folder / name).read_text() for name in TEXT if name.endswith("limits.rego")} == {
        LIMITS: TEXT[LIMITS]
    }
    again = await said(env, "explain", run_id, "--edit", str(folder))
    assert (again.code, again.err) == (1, f"countersign: {folder} is not empty; name a new folder\n")


async def test_a_folder_that_is_none_and_a_policy_with_faults_fail_the_check(
    env: dict[str, str], tmp_path: Path
) -> None:
    missing = await said(env, "check", str(tmp_path / "none"))
    assert (missing.code, missing.err) == (1, f"countersign: {tmp_path / 'none'} is not a folder\n")
    (tmp_path / "empty").mkdir()
    found = await said(env, "check", str(tmp_path / "empty"), "--json")
    assert found.code == 1
    assert json.loads(found.out) == {"faults": [f"{tmp_path / 'empty'}: no policies under countersign or system"]}
