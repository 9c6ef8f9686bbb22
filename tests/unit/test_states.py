"""State machines: the tables, the diagrams in the docs and the database's CHECK constraints say the same."""

import re
from enum import StrEnum
from pathlib import Path

import pytest
from sqlalchemy import CheckConstraint

from runtime.model.states import (
    EFFECT,
    MACHINES,
    RUN,
    EffectStatus,
    IllegalTransitionError,
    RunStatus,
    StepStatus,
    check,
    check_run,
    is_final,
)
from runtime.store.schema.tables import metadata

ARCHITECTURE = Path(__file__).parents[2] / "docs/architecture.md"
TABLES = {
    "run": "runs",
    "step": "steps",
    "effect": "effects",
    "approval": "approvals",
    "wait": "waits",
    "notification": "notifications",
    "bundle": "evidence_bundles",
    "definition": "definition_lives",
}


def _diagram(machine: str) -> set[tuple[str, str]]:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    section = re.search(rf"^### {machine.title()}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/architecture.md has no diagram of the {machine}"
    found = re.findall(r"^\s*(\w+|\[\*\]) --> (\w+|\[\*\])", section[1], re.MULTILINE)
    return {(a, b) for a, b in found if "[*]" not in (a, b)}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_diagram_in_the_docs_is_the_table(machine: str) -> None:
    table = {(str(a), str(b)) for a, states in MACHINES[machine].items() for b in states}
    assert _diagram(machine) == table


@pytest.mark.parametrize("machine", MACHINES)
def test_the_database_allows_exactly_the_states_of_the_table(machine: str) -> None:
    constraints = metadata.tables[TABLES[machine]].constraints
    (check_,) = [c for c in constraints if isinstance(c, CheckConstraint) and str(c.name).endswith("_status")]
    assert set(re.findall(r"'(\w+)'", str(check_.sqltext))) == {str(state) for state in MACHINES[machine]}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_state_can_be_reached_and_every_table_is_closed(machine: str) -> None:
    table = MACHINES[machine]
    reachable: set[StrEnum] = {next(iter(table))}
    while more := {after for state in reachable for after in table[state]} - reachable:
        reachable |= more
    assert reachable == set(table)


def test_what_is_over_stays_over() -> None:
    assert is_final(RUN, RunStatus.SUCCEEDED)
    with pytest.raises(IllegalTransitionError, match="dispatched -> pending"):
        check(EFFECT, EffectStatus.DISPATCHED, EffectStatus.PENDING)
    with pytest.raises(IllegalTransitionError):
        check_run(RunStatus.CANCELED, RunStatus.RUNNING)


def test_a_run_may_pass_through_running_from_one_wait_to_the_next() -> None:
    check_run(RunStatus.WAITING, RunStatus.WAITING_APPROVAL)
    check_run(RunStatus.QUEUED, RunStatus.SUCCEEDED)


def test_step_statuses_that_mean_work_are_not_final() -> None:
    assert not is_final(MACHINES["step"], StepStatus.PARKED)
