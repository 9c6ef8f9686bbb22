"""What people are told when a run has ended: what failed, what was rejected, what was not done and why."""

from dataclasses import replace

import pytest

from runtime.definitions.model import Definition
from runtime.model.run import StepState
from runtime.model.states import RunStatus, StepStatus
from runtime.planning.run_endings import Ending, StepNote, ending_of
from tests.unit.test_definitions_catalog import GOOD, load

DONE = StepState(StepStatus.SUCCEEDED, {"decision": "rejected", "reason": "no"})


@pytest.fixture
def onboard() -> Definition:
    definition = load(GOOD).latest("onboard")
    assert definition is not None
    return definition


def test_rejected_review_is_named_and_other_results_are_not(onboard: Definition) -> None:
    steps = dict.fromkeys(onboard.steps, DONE)
    assert ending_of(onboard, RunStatus.SUCCEEDED, steps) == Ending(RunStatus.SUCCEEDED, (), (), (), ())
    review = replace(onboard.verbs["ask_client"], wait_type="human_task")
    reviewed = replace(onboard, verbs={**onboard.verbs, "ask_client": review})
    assert ending_of(reviewed, RunStatus.SUCCEEDED, steps).rejected == (StepNote("ask", "no"),)


def test_failed_and_skipped_steps_are_named_with_their_reason(onboard: Definition) -> None:
    steps = {
        "look": StepState(StepStatus.FAILED_TERMINAL, error="away"),
        "pause": StepState(StepStatus.CANCELED, error="step look failed"),
        "ask": StepState(StepStatus.SKIPPED, error="not so: x"),
    }
    ending = ending_of(onboard, RunStatus.FAILED_TERMINAL, steps)
    assert (ending.failed, ending.skipped) == ((StepNote("look", "away"),), (StepNote("ask", "not so: x"),))
