"""What the comparison of limits says that they ask for is what OPA answers, with the shipped policies."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policy.bundle import policy_text, read_policy, write_files
from policy.execution_windows import ExecuteWhen
from policy.limit_demand import Demand, Listed, Never, demand_of
from policy.limit_model import read_tenant, seconds
from policy.limit_space import FIELD, Cut, Option, space_of
from tests.limit_worlds import OPERATIONS, config, worlds
from tests.opa_server import SHIPPED, opa_program

PEOPLE = {"by": ["petra"], "to": ["tom", "tim"]}
World = tuple[set[str], dict[str, Any], dict[str, Any]]


def questions_of(tenant: str, limits: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Demand]]:
    """Yield a question for each cell of the space that limits cut, with what they ask for."""
    parsed = read_tenant(config(limits))
    assert parsed
    for operation in OPERATIONS:
        concerned = [limit for limit in parsed.limits.values() if limit.when.concerns("payments", operation)]
        placed = [(1 << place, limit) for place, limit in enumerate(concerned)]
        entry = parsed.connectors["payments"].operations[operation]
        listed = Listed("payments", operation, chat=False, tier=entry.tier, execute=None, writes_per_run=60)
        for mask, cell in space_of(Cut(placed, with_lists=True)).cells.items():
            document = question(tenant, operation, cell)
            if document:
                yield document, demand_of([one for one in placed if one[0] & mask], listed)


def question(tenant: str, operation: str, cell: Sequence[Option]) -> dict[str, Any] | None:
    """Return the question of a cell; None if nobody knows a text that matches as it has to."""
    has = {name: value for option in cell for name, value in option.sets.items()}
    if any(value.is_made_up and name != "fields.memo" for name, value in has.items()):
        return None
    if "fields.memo" in has and has["fields.memo"].is_made_up and isinstance(has["fields.memo"].json, list):
        return None
    fields: dict[str, Any] = {}
    for name, value in has.items():
        if name.startswith(FIELD) and value.json is not None:
            *around, last = name.removeprefix(FIELD).split(".")
            place = fields.setdefault(around[0], {}) if around else fields
            place[last] = ("v1" if value.holds else "x") if value.is_made_up else value.json
    said = {name: value.json for name, value in has.items() if not name.startswith(FIELD)}
    groups = said.get("requester_groups", [])
    return {
        "time": said.get("time", "2026-01-20T10:00:00Z"),
        "tenant": tenant,
        "actor": {
            "id": said.get("requester", "zed"),
            "kind": said.get("requester_kind", "person"),
            "groups": groups if isinstance(groups, list) else [groups],
            "submitted_by": said.get("agent", "hook"),
        },
        "run": {"id": "r1", "definition": said.get("runbook", "else"), "version": 1, "trigger_type": "case"},
        "step": "pay",
        "effect": {
            "connector": "payments",
            "operation": operation,
            "target": "payment:1",
            "fields": fields,
            "tier": "low",
            "reversible": True,
            "digest": "00" * 32,
        },
        "approval": None,
        "votes": [],
        "named": PEOPLE,
    }


def decisions(configs: Mapping[str, Any], asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask the shipped policies, with the configuration of some tenants."""
    modules = {name: text for name, text in read_policy(SHIPPED).files.items() if name.endswith(".rego")}
    with TemporaryDirectory() as folder:
        write_files(Path(folder), policy_text(modules, configs).files)
        (Path(folder) / ".manifest").write_text(json.dumps({"roots": [""], "rego_version": 1}), encoding="utf-8")
        words = ["eval", "--bundle", folder, "--stdin-input", "--format", "json", "data.countersign.effect.decisions"]
        done = subprocess.run(
            [opa_program(), *words], input=json.dumps(asked), capture_output=True, text=True, check=True
        )
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)["result"][0]["expressions"][0]["value"]
    return [found[str(place)] for place in range(len(asked))]


def check(answer: Mapping[str, Any], document: Mapping[str, Any], demand: Demand) -> None:
    """Hold OPA's answer against what limits are said to ask for."""
    codes = {one["code"] for one in answer["reasons"]}
    if isinstance(demand.execute, Never):
        assert codes == {"limits.contradiction"}
        return
    if document["counters"]["writes"] >= demand.writes_per_run:
        assert "limits.writes_per_run" in codes
        return
    assert answer["tier"] == demand.tier
    required = answer["requirement"]
    if not demand.requirement:
        assert (answer["outcome"], required) == ("allow", None)
        assert _window(answer) == demand.execute
        return
    assert answer["outcome"] == "needs_approval"
    assert (required["groups"], _window(required)) == (sorted(demand.requirement), demand.execute)
    assert (required["quorum"], required.get("sign_with")) == (demand.quorum or 1, demand.sign_with)
    assert seconds(required["expires_in"]) == min(seconds(one) for one in ("PT8H", demand.expires_in or "PT8H"))
    wanting = {document["actor"]["id"], document["actor"]["submitted_by"]}
    assert set(required["exclude"]) == wanting | {person for path in demand.exclude for person in PEOPLE[path]}


def _window(said: Mapping[str, Any]) -> ExecuteWhen | None:
    return ExecuteWhen.model_validate(said["execute"]) if "execute" in said else None


@settings(max_examples=6)
@given(st.lists(worlds(budgets=False), min_size=15, max_size=15))
def test_what_limits_are_said_to_ask_for_is_what_opa_answers(drawn: list[World]) -> None:
    limits = {
        f"t{place}": {**was, **{f"n{name}": one for name, one in now.items()}}
        for place, (_, was, now) in enumerate(drawn)
    }
    asked = []
    for tenant, held in limits.items():
        for document, demand in questions_of(tenant, held):
            most = demand.writes_per_run
            asked += [({**document, "counters": {"writes": n}}, demand) for n in (most - 1, most) if n >= 0]
    answers = decisions({tenant: config(held) for tenant, held in limits.items()}, [one for one, _ in asked])
    assert len(answers) > len(drawn)
    for answer, (document, demand) in zip(answers, asked, strict=True):
        check(answer, document, demand)
