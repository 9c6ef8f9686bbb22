"""State machines: the tables are closed, and the database's CHECK constraints list the same states."""

import re
from enum import StrEnum

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
