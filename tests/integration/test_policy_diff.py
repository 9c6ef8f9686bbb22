"""`policy diff`: two policies of folders, or of the record, rule by rule and member by member."""

import json
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.limit_changes import SAME
from tests.bench import Bench
from tests.integration.limits_stage import LARGE, limited_policies
from tests.integration.policies_stage import filing
from tests.integration.program_stage import Finished, command, environment, settings_of
from tests.opa_server import POLICIES, copy_policies, edit_policy, opa_program

LIMITS, TIERS = "countersign/limits.rego", "countersign/tiers.rego"
CONFIG = "countersign_config/acme/data.json"


@pytest.fixture
def env(dsn: str, opa: OpaChild, tmp_path: Path) -> dict[str, str]:
    return {**environment(settings_of(dsn, opa.url, tmp_path)), "COUNTERSIGN_OPA": str(opa_program())}


async def diff(env: dict[str, str], *words: str) -> Finished:
    return await command("policy", "diff", *words, env=env)


async def test_rules_defaults_sentences_and_limits_that_differ_are_named(
    bench: Bench, env: dict[str, str], tmp_path: Path
) -> None:
    await filing(bench, "ACME")
    [row] = await bench.rows("SELECT digest FROM policy_texts")
    new = copy_policies(tmp_path / "rego")
    edit_policy(new, LIMITS, "input.counters.writes >= 0", "input.counters.writes > 0")
    edit_policy(new, LIMITS, "The run has reached its limit of writes", "No more writes")
    edit_policy(new, TIERS, 'default effective := "high"', 'default effective := "low"')
    edit_policy(new, CONFIG, '"writes_per_run": 60', '"writes_per_run": 80')
    for old in (str(POLICIES), row["digest"], row["digest"][:12]):
        told: dict[str, Any] = json.loads((await diff(env, old, str(new), "--json")).out)
        assert [(one["change"], one["title"], one["code"]) for one in told["rules"]] == [
            ("changed", "Write limit reached", "limits.writes_per_run"),
            ("changed", "Permitted", ""),
            ("changed", "Effective tier", ""),
        ]
        assert [(one["path"], one["old"], one["new"], one["direction"]) for one in told["config"]] == [
            (["writes_per_run"], 60, 80, "wider")
        ]
        assert told["files"] == [LIMITS, TIERS]
    text = (await diff(env, str(POLICIES), str(new))).out.splitlines()
    line = next(n for n, one in enumerate((new / TIERS).read_text().splitlines(), 1) if one.startswith("default"))
    assert f"changed  Effective tier  {TIERS}:{line}" in text
    assert "wider    acme.writes_per_run  was 60, now 80" in text


async def test_the_same_policy_does_not_differ_and_what_is_none_is_said(env: dict[str, str], tmp_path: Path) -> None:
    same = await diff(env, str(POLICIES), str(copy_policies(tmp_path / "rego")))
    assert (same.code, same.out) == (0, "no rule and no configuration changed\n")
    none = await diff(env, "0123456789", str(POLICIES))
    assert (none.code, "there is no single policy in the database with the digest 0123456789" in none.err) == (1, True)
    missing = await diff(env, str(POLICIES), str(tmp_path / "none"))
    assert (missing.code, f"{tmp_path / 'none'} is not a folder" in missing.err) == (1, True)


async def test_limits_are_compared_by_what_they_ask_for_with_an_example(env: dict[str, str], tmp_path: Path) -> None:
    large = {**LARGE, "requirement": "owners"}
    renamed = {"big": {**large, "comment": "Another comment"}}
    smaller = {"large": {**large, "when": {**LARGE["when"], "fields": {"amount": {"over": 500}}}}}
    was, now, fewer = (
        str(limited_policies(tmp_path / name, limits))
        for name, limits in (("was", {"large": large}), ("now", renamed), ("fewer", smaller))
    )
    told: dict[str, Any] = json.loads((await diff(env, was, fewer, "--json")).out)
    assert told["config"] == [
        {
            "tenant": "acme",
            "path": ["limits", "payments::refund", "requirement"],
            "old": [],
            "new": ["owners"],
            "direction": "narrower",
            "example": "payments::refund with amount 500.01: was nobody, now owners",
        }
    ]
    narrower = (
        "narrower acme.limits.payments::refund.requirement  payments::refund with amount 500.01: was nobody, now owners"
    )
    assert (await diff(env, was, fewer)).out == f"{narrower}\n"
    assert (await diff(env, was, now)).out == f"same     acme.limits  {SAME}\n"
