"""Step failures: error classes, held steps, the circuit breaker and how runs end.

The six classes of a step's errors, and which of them each exception is.

Where an error waits for a person: what a runbook says of that, and what its definition keeps.

A held step: what comes late about it changes nothing, and only what a person says moves it.

What people are told when a run has ended: what failed, what was rejected, what was not done and why.

The circuit breaker's rules.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.contract import PolicyUnavailableError
from receipts.canonical import CanonicalError
from runtime.definitions.canonical import definition_document
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.loading.runbooks import load_runbook
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import Definition
from runtime.definitions.problems import DefinitionError, InvalidDefinitionsError
from runtime.gate.gate_passage import speaks_for_failure
from runtime.handlers import (
    BlockedError,
    HandlerError,
    Metadata,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
)
from runtime.model.circuit_breaker import FAILURES, FORGOTTEN, LONGEST_PAUSE, Breaker, BreakerState, after_failure
from runtime.model.effect import KeyInUseError, LeaseLostError
from runtime.model.run import RepairAction, StepState
from runtime.model.states import IllegalTransitionError, RunStatus, StepStatus
from runtime.model.steps import CLASS_OF, ErrorClass, ErrorCode, ParamsError, ResultError, StepError
from runtime.planning.planner import plan
from runtime.planning.run_endings import Ending, StepNote, ending_of
from runtime.planning.step_errors import step_error
from runtime.planning.transition import Snapshot, Started, StepMoved, StepRepaired
from tests.unit.test_definitions_catalog import GOOD, load
from tests.unit.test_planner_trees import VERBS, after, fresh


def _answered(error: HandlerError, status: int) -> HandlerError:
    error.metadata = Metadata(status=status)
    return error


def test_every_code_belongs_to_one_class_and_every_class_has_one() -> None:
    assert set(CLASS_OF) == set(ErrorCode)
    assert set(CLASS_OF.values()) == set(ErrorClass)


@pytest.mark.parametrize(
    ("raised", "error_class", "code"),
    [
        (DefinitionError("no"), "definition", "definition"),
        (InvalidDefinitionsError([]), "definition", "definition"),
        (ExpressionError("no such key: lei"), "expression", "expression"),
        (ParamsError("params of ask: /lei: too short"), "expression", "params"),
        (CanonicalError("a float of infinite size"), "expression", "unrecordable"),
        (ResultError("result: /lei: too short"), "transport", "result"),
        (RefusedError("unknown client"), "transport", "refused"),
        (_answered(RefusedError("unknown client"), 404), "transport", "refused"),
        (NotTakenError("no connection"), "transport", "not_taken"),
        (TransientError("busy"), "transport", "unavailable"),
        (BlockedError("the bot is not in the channel"), "transport", "blocked"),
        (OutcomeUnknownError("reset"), "transport", "outcome_unknown"),
        (KeyError("lei"), "transport", "unexpected"),
        (TimeoutError(), "timeout", "no_answer"),
        (_answered(BlockedError("bad token"), 401), "authorization", "unauthenticated"),
        (_answered(RefusedError("not yours"), 403), "authorization", "forbidden"),
        (PolicyUnavailableError("late"), "authorization", "no_policy"),
        (IllegalTransitionError("no"), "consistency", "illegal_transition"),
        (LeaseLostError("eff_1"), "consistency", "lease_lost"),
        (KeyInUseError("k"), "consistency", "key_in_use"),
    ],
)
def test_an_exception_is_an_error_of_one_class(raised: Exception, error_class: str, code: str) -> None:
    error = step_error(raised)
    assert (error.error_class, error.code) == (error_class, code)


def test_what_the_other_side_said_in_passing_is_no_refusal_of_ours() -> None:
    assert step_error(_answered(TransientError("busy"), 403)).code is ErrorCode.UNAVAILABLE


def test_an_error_of_the_house_speaks_for_itself_and_another_is_named() -> None:
    assert step_error(RefusedError("unknown client")).message == "unknown client"
    assert step_error(ParamsError("params of ask: /lei: too short")).message == "params of ask: /lei: too short"
    assert step_error(TimeoutError()).message == "no answer in time"
    assert step_error(KeyError("lei")).message == "KeyError: 'lei'"


@pytest.mark.parametrize("code", list(ErrorCode))
def test_an_error_is_stored_with_its_class_and_read_as_it_was(code: ErrorCode) -> None:
    error = StepError(code, "why")
    assert error.document() == {"class": str(CLASS_OF[code]), "code": str(code), "message": "why"}
    assert StepError.of(error.document()) == error


def test_a_class_to_which_the_code_does_not_belong_is_refused() -> None:
    with pytest.raises(ValueError, match="rejected is an error of authorization, not of timeout"):
        StepError.of({"class": "timeout", "code": "rejected", "message": ""})


def loaded(steps: list[dict[str, Any]], **head: Any) -> Definition:
    value = {"name": "t", "version": 1, "title": "T", "trigger": {"type": "t.t", "schema": {}}, "steps": steps, **head}
    found = load_runbook(Source("t.yaml", value, {}), VERBS)
    assert found.definition is not None, [str(problem) for problem in found.problems]
    return found.definition


LOOK = {"id": "look", "verb": "look"}
PAUSE = {"id": "pause", "wait": {"for": "PT1H"}}
KEEP = {"id": "keep", "set": {"seen": True}}


def test_a_step_says_for_itself_whether_its_errors_hold() -> None:
    steps: list[dict[str, Any]] = [
        {**LOOK, "on_error": "needs_attention"},
        {**PAUSE, "on_error": "needs_attention"},
        {"id": "other", "verb": "look"},
    ]
    definition = loaded(steps)
    assert {path: node.needs_attention for path, node in definition.steps.items()} == {
        "look": True,
        "pause": True,
        "other": False,
    }


def test_what_the_head_says_holds_for_calls_and_waits_that_do_not_say_otherwise() -> None:
    definition = loaded(
        [LOOK, {"id": "other", "verb": "look", "on_error": "fail"}, PAUSE, KEEP], on_error="needs_attention"
    )
    assert [path for path, node in definition.steps.items() if node.needs_attention] == ["look", "pause"]


def test_a_runbook_of_which_no_error_needs_attention_keeps_its_digest() -> None:
    plain = loaded([LOOK])
    assert loaded([{**LOOK, "on_error": "fail"}], on_error="needs_attention").digest == plain.digest
    assert loaded([LOOK], on_error="fail").digest == plain.digest
    holding = definition_document(loaded([LOOK], on_error="needs_attention"))
    assert holding["steps"][0]["on_error"] == "needs_attention"


TREE = loaded([LOOK], on_error="needs_attention")


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


NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def _failed(times: int, pause: timedelta = timedelta(seconds=1)) -> tuple[Breaker, datetime]:
    breaker, now = None, NOW
    for _ in range(times):
        now += pause
        breaker = after_failure(breaker, now)
    assert breaker is not None
    return breaker, now


@given(st.integers(1, 40))
def test_it_opens_after_so_many_failures_in_a_row(times: int) -> None:
    breaker, now = _failed(times)
    assert breaker.state(now) is (BreakerState.OPEN if times >= FAILURES else BreakerState.CLOSED)


@given(st.integers(FAILURES, 40))
def test_it_is_half_open_after_a_bounded_pause(times: int) -> None:
    breaker, now = _failed(times)
    assert breaker.state(now + LONGEST_PAUSE) is BreakerState.HALF_OPEN


def test_failures_long_apart_are_not_in_a_row() -> None:
    breaker, now = _failed(3 * FAILURES, FORGOTTEN)
    assert breaker.state(now) is BreakerState.CLOSED


def test_no_answer_speaks_for_failure_and_a_refusal_or_a_word_to_come_back_does_not() -> None:
    assert speaks_for_failure(TransientError("connection refused"))
    assert speaks_for_failure(OutcomeUnknownError("reset"))
    assert speaks_for_failure(TimeoutError())
    assert not speaks_for_failure(TransientError("429", retry_after=3))
    assert not speaks_for_failure(RefusedError("422"))
    assert not speaks_for_failure(BlockedError("401"))
    assert not speaks_for_failure({"ok": True})
