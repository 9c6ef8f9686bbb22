"""Previews of policy over HTTP: for authors alone, on their own tenant's questions; nothing is kept, nothing leaves."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from countersign.settings import Settings
from countersign.system import System
from edge.policy_preview import LONGEST_VALUE, MOST_MODULES, TEXT_LIMIT
from policy.bundle import CONFIG_FILE, read_policy
from policy.vetting import sample_question
from tests.integration.program_stage import Answer, Edge, composed, database, edge_of, is_problem, rows, settings_of
from tests.integration.test_edge_refused import refused
from tests.integration.test_policy_confined import ENDLESS, PATIENT, children
from tests.opa_server import SHIPPED, copy_policies, kept_opa, opa_program
from tests.patience import until

ROUTE = "/v1/policy/preview"
TEXT = read_policy(SHIPPED).files
CONFIG = json.loads(TEXT[CONFIG_FILE])
DECISION, LIMITS = "countersign/decision.rego", "countersign/limits.rego"
BELOW = "input.counters.writes < config.tenant.writes_per_run"
ALONE = """package countersign.effect

decision := {"outcome": "allow", "tier": input.effect.tier, "requirement": null, "reasons": [], "obligations": []}
"""
FLAWLESS = "package countersign.effect.config\n\nflaws := set()\n"


@dataclass
class Stage:
    """A system that can preview policies, its edge and its database."""

    system: System
    edge: Edge
    dsn: str

    async def preview(self, by: str = "policy-desk", **body: Any) -> Answer:
        return await sent(self.edge, {"input": asked(), **body}, by)


@pytest.fixture(scope="module")
async def stage(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Serve the edge of one tenant, whose policy is that of another tenant too."""
    home = tmp_path_factory.mktemp("previews")
    policies = copy_policies(home / "rego")
    shutil.copytree(policies / "countersign_config/acme", policies / "countersign_config/other")
    with database(postgres, "previews") as dsn, pytest.MonkeyPatch.context() as patched:
        # each rule that may have come near is one more evaluation: the test of them alone has them tried
        patched.setattr("runtime.services.policy_previews.FRONT", replace(PATIENT, near=0.0))
        settings = with_opa(settings_of(dsn, (await kept_opa(policies)).url, home))
        async with composed(settings) as system, edge_of(system) as edge:
            yield Stage(system, edge, dsn)


def with_opa(settings: Settings, program: Path | None = None) -> Settings:
    return settings.model_copy(update={"opa": program or opa_program()})


def asked(**changes: Any) -> dict[str, Any]:
    """Return a question about a filing that Anna requests, with other members."""
    question = sample_question("acme", "register", "file_report", "register:1", "high", "2026-01-05T10:00:00Z")
    actor = {"id": "anna", "kind": "person", "groups": ["compliance"], "submitted_by": "onboarding-portal"}
    return {**question.model_dump(mode="json"), "actor": actor, **changes}


async def sent(edge: Edge, body: Mapping[str, Any], by: str = "policy-desk") -> Answer:
    return await edge.send("POST", ROUTE, json.dumps(body).encode(), by=by)


def limits(said: str) -> dict[str, str]:
    """Return the module of limits with something in the place of one condition."""
    return {LIMITS: TEXT[LIMITS].replace(BELOW, said)}


async def test_the_policy_in_force_is_previewed_with_its_rules_and_with_who_could_sign(stage: Stage) -> None:
    counts = "SELECT (SELECT count(*) FROM policy_decisions) AS d, (SELECT count(*) FROM policy_texts) AS t"
    before = rows(stage.dsn, counts)
    answer = await stage.preview()
    assert (answer.status, answer.body["result"]["outcome"], answer.body["fault"]) == (200, "needs_approval", None)
    assert answer.body["policy_digest"] == (await stage.system.policy.in_force()).digest
    [rule] = [one for one in answer.body["rules"]["fired"] if one["code"] == "writes.high_tier"]
    assert TEXT[rule["file"]].splitlines()[rule["row"] - 1].startswith("demand :=")
    assert (rule["title"], rule["reads"]["tiers.effective"], rule["not_so"]) == ("High tier", "high", None)
    assert (answer.body["printed"], answer.body["milliseconds"] > 0) == ([], True)
    people = [(one["id"], one["groups"]) for one in answer.body["signers"]["people"]]
    assert people == [("boris", ["compliance"]), ("sena", ["compliance"])], "who requests does not sign"
    assert answer.body["signers"]["count"] == 2
    assert rows(stage.dsn, counts) == before


async def test_modules_take_the_place_of_those_of_their_names_for_this_question_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.services.policy_previews.FRONT", PATIENT)
    changed = await stage.preview(rego_modules=limits('print("so far", input.counters.writes)\n\tinput.step == "x"'))
    assert changed.body["result"]["reasons"][0]["code"].startswith("limits.")
    assert (changed.body["printed"], changed.body["signers"]) == (["so far 0"], None)
    near = [(one["path"], one["not_so"]) for one in changed.body["rules"]["near"] if one["file"] == LIMITS]
    assert ("data.countersign.effect.limits.permitted", 'input.step == "x"') in near
    after = await stage.preview()
    assert (after.body["result"]["outcome"], after.body["printed"]) == ("needs_approval", [])
    assert after.body["policy_digest"] != changed.body["policy_digest"]


async def test_data_takes_the_place_of_the_configuration(stage: Stage) -> None:
    acme = CONFIG["acme"]
    high = {**acme["requirements"], "high": {**acme["requirements"]["high"], "quorum": 3}}
    answer = await stage.preview(data={"acme": {**acme, "requirements": high}})
    assert answer.body["result"]["requirement"]["quorum"] == 3
    flawed = await stage.preview(data={"acme": {**acme, "writes_per_run": "many"}})
    assert flawed.body["fault"].startswith("acme: writes_per_run: ")
    assert flawed.body["signers"] is None


async def test_in_a_sandbox_the_modules_are_the_whole_policy(stage: Stage) -> None:
    alone = await stage.preview(sandbox=True, rego_modules={DECISION: ALONE, "countersign/config.rego": FLAWLESS})
    assert (alone.body["result"]["outcome"], alone.body["fault"]) == ("allow", None)
    assert {one["file"] for one in alone.body["rules"]["fired"]} <= {DECISION, "countersign/config.rego"}
    nothing = await stage.preview(sandbox=True, rego_modules={"a/b.rego": "package a.b\n"})
    assert (nothing.body["result"], nothing.body["signers"]) == (None, None)
    assert nothing.body["fault"] == "result: not a list of flaws"


async def test_foreign_modules_see_the_configuration_of_no_other_tenant(stage: Stage) -> None:
    assert set(json.loads((await stage.system.policy.in_force()).files[CONFIG_FILE])) == {"acme", "other"}
    seen = await stage.preview(rego_modules=limits("print(object.keys(data.countersign_config))"))
    assert seen.body["printed"] == ['{"acme"}']


async def test_who_is_no_policy_author_previews_nothing_and_that_is_on_record(stage: Stage) -> None:
    for by in ("onboarding-portal", "servicenow"):
        assert is_problem(await stage.preview(by), 403, f"{by} may not preview policies")
    other = await stage.preview(input=asked(tenant="other"))
    assert is_problem(other, 403, "policy-desk asks about the tenant acme alone")
    assert is_problem(await stage.preview("stranger"), 403, "no agent stranger")

    async def are_on_record() -> bool:
        told = {(caller, act.rule, act.tried[0].subject) for caller, act in refused(stage.dsn)}
        return told >= {
            ("onboarding-portal", "caller.previews", "acme"),
            ("servicenow", "caller.previews", "acme"),
            ("policy-desk", "caller.previews", "other"),
        }

    await until(are_on_record)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({}, 422, "input: Field required"),
        ({"input": []}, 422, "input: Input should be a valid dictionary"),
        ({"input": {}, "querry": 1}, 422, "querry: Extra inputs are not permitted"),
        ({"input": {"tenant": "acme"}}, 422, "input: the question is none: time: Field required"),
        ({"input": asked(counters={"writes": "3"})}, 422, "input: the question is none: counters.writes: "),
        ({"input": asked(), "sandbox": "yes"}, 422, "sandbox: Input should be a valid boolean"),
        ({"input": asked(), "sandbox": True}, 422, "rego_modules: missing"),
        ({"input": asked(), "data": {"acme": 1}}, 422, "data.acme: Input should be a valid dictionary"),
        ({"input": asked(), "rego_modules": {"a.rego": 1}}, 422, "rego_modules.a.rego: Input should be a valid string"),
        ({"input": asked(), "rego_modules": {CONFIG_FILE: "{}"}}, 422, "the name of a module ends with .rego"),
        ({"input": asked(), "rego_modules": {"../a.rego": ""}}, 422, "../a.rego: this name cannot be stored"),
        ({"input": asked(), "rego_modules": {f"{LIMITS}/a.rego": ""}}, 422, f"{LIMITS} is a file, and cannot be"),
        ({"input": asked(), "rego_modules": {f"{n}.rego": "" for n in range(MOST_MODULES + 1)}}, 422, "rego_modules: "),
        ({"input": asked(), "rego_modules": {LIMITS: "package"}}, 422, f"{LIMITS}:1: "),
        ({"input": asked(), "rego_modules": limits('http.send({"url": "http://127.0.0.1:1"})')}, 422, "http.send"),
        ({"input": asked(), "rego_modules": limits('net.lookup_ip_addr("x")')}, 422, "undefined function net.lookup"),
        ({"input": asked(), "rego_modules": limits("opa.runtime().env.HOME")}, 422, "undefined function opa.runtime"),
        ({"input": asked(), "rego_modules": {LIMITS: "#" * TEXT_LIMIT}}, 413, f"a body may have {TEXT_LIMIT} bytes"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
async def test_what_cannot_be_previewed_is_one_error_that_names_where(
    stage: Stage, body: dict[str, Any], status: int, says: str
) -> None:
    assert is_problem(await sent(stage.edge, body), status, says)


async def test_no_more_than_two_are_previewed_at_once_and_what_takes_too_long_is_ended(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.services.policy_previews.FRONT", replace(PATIENT, seconds=1))
    before = children()
    endless = [asyncio.create_task(stage.preview(rego_modules=limits(f"{BELOW}\n\t{ENDLESS}"))) for _ in range(2)]

    async def are_running() -> bool:
        return len(children() - before) == len(endless)

    await until(are_running)
    third = await stage.preview()
    assert is_problem(third, 503, "2 previews are under way")
    assert int(third.headers["Retry-After"]) > 0
    for answer in await asyncio.gather(*endless):
        assert is_problem(answer, 422, "the policy needs more than 1 s of CPU time")
    assert children() <= before
    monkeypatch.undo()
    assert (await stage.preview()).status == 200


async def test_values_that_rules_read_are_shown_as_far_as_they_are_short(stage: Stage) -> None:
    effect = {**asked()["effect"], "fields": {"note": "x" * 2 * LONGEST_VALUE}}
    module = limits(f'{BELOW}\n\tinput.effect.fields.note != ""')
    answer = await stage.preview(input=asked(effect=effect), rego_modules=module)
    [read] = [one["reads"] for one in answer.body["rules"]["fired"] if "input.effect.fields.note" in one["reads"]]
    assert len(read["input.effect.fields.note"]) == LONGEST_VALUE + 1


async def test_each_preview_counts_against_the_callers_rate(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    few = with_opa(settings_of(dsn, opa.url, tmp_path, caller_burst=1, caller_rate=0.001))
    async with composed(few) as system, edge_of(system) as edge:
        assert is_problem(await sent(edge, {}), 422)
        late = await sent(edge, {})
        assert is_problem(late, 429, "policy-desk sends too many requests")
        assert int(late.headers["Retry-After"]) > 0


async def test_without_opa_there_are_no_previews(dsn: str, opa: OpaChild, tmp_path: Path) -> None:
    async with composed(settings_of(dsn, opa.url, tmp_path)) as system, edge_of(system) as edge:
        assert is_problem(await sent(edge, {"input": asked()}), 501, "COUNTERSIGN_OPA is not set")
    missing = with_opa(settings_of(dsn, opa.url, tmp_path), tmp_path / "opa")
    async with composed(missing) as system, edge_of(system) as edge:
        assert is_problem(await sent(edge, {"input": asked()}), 501, "there is no such program")


async def test_while_the_policy_in_force_is_away_a_sandbox_alone_is_previewed(dsn: str, tmp_path: Path) -> None:
    away = with_opa(settings_of(dsn, "http://127.0.0.1:1", tmp_path))
    async with composed(away) as system, edge_of(system) as edge:
        answer = await sent(edge, {"input": asked()})
        assert is_problem(answer, 503, "the policy in force cannot be read just now")
        assert int(answer.headers["Retry-After"]) > 0
        alone = {DECISION: ALONE, "countersign/config.rego": FLAWLESS}
        assert (await sent(edge, {"input": asked(), "sandbox": True, "rego_modules": alone})).status == 200
