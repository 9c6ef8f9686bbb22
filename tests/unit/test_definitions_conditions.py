"""Conditions: what cannot hold is refused, what only a run can show is a warning, and what is sound passes."""

from pathlib import Path

import pytest

from runtime.definitions.cel.comparisons import Comparison, Literal, comparisons, is_number_or_text
from runtime.definitions.cel.tokens import Reference
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.loading.conditions import WARNING, check_condition
from runtime.definitions.scope import Scope
from tests.unit.test_definitions_catalog import GOOD, load, pack

TRIGGER = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "name": {"type": "string"},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "open": {},
    },
}
SCOPE = Scope({"trigger": TRIGGER, "run": {}}, {"first": TRIGGER})


def codes(source: str) -> list[str]:
    return [fault.code for fault in check_condition(source, SCOPE)]


@pytest.mark.parametrize(
    "source",
    [
        "trigger.sure",
        "!trigger.sure",
        "trigger.count > 3 && trigger.share >= 2.5 || trigger.name != 'x'",
        "steps.first.status == 'succeeded' && steps.first.result.name == 'x'",
        "steps.first.status in ['succeeded', 'skipped']",
        "trigger.tags.exists(tag, tag == 'x') && trigger.tags.size() > 0",
        "size(trigger.tags) == 2",
        "'x' in trigger.tags",
        "trigger.count == trigger.share",
        "(trigger.count + 1) * 2 > trigger.share",
        "trigger.sure ? trigger.count > 1 : false",
        "has(trigger.open) && trigger.tags[0] == 'x'",
        "trigger.name.startsWith('a')",
        "trigger.name == null",
        "[1, 2].all(n, n < trigger.count)",
        "string(trigger.count) == '3'",
        "'ann' in approvals.first.signers && size(approvals.first.signers) > 1",
        "approvals.first.signers[0] == 'ann'",
    ],
)
def test_sound_condition_passes(source: str) -> None:
    assert codes(source) == []


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("trigger.count + 1", "type_mismatch"),
        ("approvals.frist.signers == []", "dangling_reference"),
        ("approvals.first.voters == []", "dangling_reference"),
        ("size(approvals) > 0", "dangling_reference"),
        ("approvals.first.signers", "type_mismatch"),
        ("trigger.tags.size()", "type_mismatch"),
        ("string(trigger.sure)", "type_mismatch"),
        ("trigger.count > 'x'", "type_mismatch"),
        ("true == trigger.name", "type_mismatch"),
        ("trigger.count == trigger.name", "type_mismatch"),
        ("steps.first.result.share == 'x'", "type_mismatch"),
        ("steps.first.status == 'failed_terminal'", "never"),
        ("trigger.sure || 'canceled' == steps.first.status", "never"),
        ("steps.first.status in ['skipped', 'running']", "never"),
        ("trigger.open", WARNING),
        ("trigger.open == 'x'", WARNING),
        ("trigger.sure && 3 < steps.first.result.open", WARNING),
    ],
)
def test_condition_that_cannot_hold_is_found(source: str, code: str) -> None:
    assert codes(source) == [code]


def test_comparisons_are_read_off_whole_operands() -> None:
    first = Comparison(Reference("a", ("b",)), "==", Literal("x"))
    assert list(comparisons("(a.b == 'x') && f(c) > 2 && a.b + 1 < 3")) == [first]
    assert not is_number_or_text("a.b - 1 > 2")
    assert is_number_or_text("(a > 1 ? 2 : 3) - 1")


RUNBOOK = """name: probe
version: 1
title: T
trigger: { type: desk.probe, schema: { properties: { open: {} } } }
steps:
  - { id: only, verb: look_up, when: trigger.open, params: { lei: LEI40000000000000000 } }
"""
VERB = """verbs:
  - name: tell
    domain: desk
    description: D
    execution: { kind: sync, handler: "tasks::close" }
    effect: { class: write, tier: low, reversible: false, target: t, idempotency_key: "KEY", in_doubt: ask }
    input_schema: { properties: { id: { type: string } } }
"""


def warned(catalog: Catalog) -> list[str]:
    return [f"{Path(each.file).name}:{each.line} {each.code}" for each in catalog.warnings]


def test_type_that_the_schema_leaves_open_is_a_warning_and_keeps_nothing_from_starting(tmp_path: Path) -> None:
    catalog = load(GOOD, pack(tmp_path, runbooks_probe=RUNBOOK))
    assert warned(catalog) == ["probe.yaml:6 open_type"]
    catalog.require("strict")
    assert catalog.latest("probe")


@pytest.mark.parametrize(
    ("key", "expected"),
    [("t:${params.id}", ["probe.yaml:6 shared_key"]), ("t:${run.definition}", ["probe.yaml:6 shared_key"])],
)
def test_idempotency_key_without_the_run_is_a_warning(tmp_path: Path, key: str, expected: list[str]) -> None:
    assert warned(load(GOOD, pack(tmp_path, verbs_probe=VERB.replace("KEY", key)))) == expected
    assert warned(load(GOOD, pack(tmp_path, verbs_probe=VERB.replace("KEY", "t:${run.id}")))) == []
