"""A held step: what comes late about it changes nothing, and only what a person says moves it."""

import pytest

from runtime.model.run import RepairAction
from runtime.model.states import IllegalTransitionError, RunStatus, StepStatus
from runtime.planning.planner import plan
from runtime.planning.transition import Snapshot, Started, StepMoved, StepRepaired
from tests.unit.test_definitions_holding import LOOK, loaded
from tests.unit.test_planner_trees import after, fresh

TREE = loaded([LOOK], on_error="hold")


def held() -> Snapshot:
    snapshot = after(TREE, fresh(TREE), plan(TREE, fresh(TREE), Started()))
    failed = StepMoved("look", StepStatus.FAILED_TERMINAL, None, "closed", "refused")
    return after(TREE, snapshot, plan(TREE, snapshot, failed))


@pytest.mark.parametrize("status", [StepStatus.SUCCEEDED, StepStatus.FAILED_TERMINAL, StepStatus.WAITING_APPROVAL])
def test_a_late_answer_about_a_held_step_changes_nothing(status: StepStatus) -> None:
    late = plan(TREE, held(), StepMoved("look", status, {}))
    assert (late.steps, late.run) == ({}, RunStatus.NEEDS_ATTENTION)


def test_nobody_lets_a_step_go_on_that_is_not_held() -> None:
    going = after(TREE, fresh(TREE), plan(TREE, fresh(TREE), Started()))
    with pytest.raises(IllegalTransitionError, match="step look needs no attention: ready"):
        plan(TREE, going, StepRepaired("look", RepairAction.SKIP, "x"))
