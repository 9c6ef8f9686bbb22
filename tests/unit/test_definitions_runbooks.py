"""Runbooks: durations and moments of waits, and the response at the end.

Durations and moments of waits: whether an expression gives one is known when the runbook is loaded.

What a runbook says to whoever asked when it ends: what is checked, and what its definition keeps.
"""

from dataclasses import replace
from typing import Any

import pytest
from countersign_kyc.functions import FUNCTIONS

from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.loading.runbooks import LoadedRunbook, load_runbook
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import Kind
from runtime.definitions.nodes import ResponseSpec
from runtime.model.states import RunStatus
from tests.functions import installed
from tests.unit.test_planner_trees import VERBS

SCHEMA = {
    "properties": {
        "pause": {"type": "string", "format": "duration"},
        "maybe": {"type": ["string", "null"], "format": "duration"},
        "kind": {"enum": ["PT1H", "P1D"]},
        "word": {"type": "string"},
        "due": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "hours": {"type": "integer", "minimum": 1, "maximum": 48},
        "many": {"type": "integer", "minimum": 0},
        "open": {},
    }
}


def problems(wait: dict[str, Any]) -> list[str]:
    step = {"id": "hold", "wait": wait}
    value = {"name": "t", "version": 1, "title": "T", "trigger": {"type": "t.t", "schema": SCHEMA}, "steps": [step]}
    found = load_runbook(Source("t.yaml", value, {}), VERBS)
    return [str(problem).partition(": ")[2] for problem in found.problems]


SURE_DURATIONS = [
    "${trigger.pause}",
    "${trigger['pause']}",
    "${trigger.kind}",
    "${trigger.hours > 3 ? 'PT1H' : trigger.pause}",
    "PT${trigger.hours}H",
    "P1DT${trigger.hours}H",
    "${'PT1H'}",
]
UNSURE_DURATIONS = [
    "${trigger.word}",
    "${trigger.maybe}",
    "${trigger.open}",
    "${trigger.hours > 3 ? 'one hour' : 'P1D'}",
    "${trigger.hours > 3 ? trigger.word : 'P1D'}",
    "${'PT' + trigger.word}",
    "${string(duration('1h'))}",
    "PT${trigger.many}H",
    "PT${trigger.word}H",
    "${trigger.due}",
    "${steps.gone.result.pause}",
    "${1}",
]
SURE_MOMENTS = [
    "2027-01-31T12:00:00Z",
    "${trigger.due}",
    "${string(timestamp(trigger.due) + duration('24h') - duration('30m'))}",
    "${string(timestamp('2027-01-31T12:00:00Z'))}",
    "${trigger.hours > 3 ? trigger.due : '2027-01-31T12:00:00Z'}",
    "${trigger.day}T18:00:00Z",
    "${run.started_at}",
]
UNSURE_MOMENTS = [
    "tomorrow",
    "2027-02-30T12:00:00Z",
    "${trigger.word}",
    "${trigger.day}",
    "${trigger.pause}",
    "${string(timestamp(trigger.word))}",
    "${string(timestamp(trigger.due) + duration('soon'))}",
    "${string(trigger.hours)}",
    "${trigger.word}T18:00:00Z",
]


@pytest.mark.parametrize("text", SURE_DURATIONS)
def test_what_is_sure_to_be_a_duration_is_one(text: str) -> None:
    assert problems({"for": text}) == problems({"signal": "closed", "timeout": text}) == []


@pytest.mark.parametrize("text", UNSURE_DURATIONS)
def test_what_may_be_no_duration_is_a_problem_before_anything_runs(text: str) -> None:
    for key, wait in (("for", {"for": text}), ("timeout", {"signal": "closed", "timeout": text})):
        (problem,) = problems(wait)
        assert problem.startswith(f"steps[0].wait.{key}: ")


@pytest.mark.parametrize("text", SURE_MOMENTS)
def test_what_is_sure_to_be_a_moment_is_one(text: str) -> None:
    assert problems({"until": text}) == problems({"signal": "closed", "until": text}) == []


@pytest.mark.parametrize("text", UNSURE_MOMENTS)
def test_what_may_be_no_moment_is_a_problem_before_anything_runs(text: str) -> None:
    for wait in ({"until": text}, {"signal": "closed", "until": text}):
        (problem,) = problems(wait)
        assert problem.startswith("steps[0].wait.until: ")


@pytest.mark.parametrize(
    ("wait", "message"),
    [
        ({"signal": "a"}, "'signal' needs 'timeout' or 'until', and not both"),
        ({"signal": "a", "timeout": "P1D", "until": "${trigger.due}"}, "'signal' needs 'timeout' or 'until'"),
        ({"for": "P1D", "until": "${trigger.due}"}, "a wait has one of 'for', 'until' and 'signal'"),
        ({"signal": "a", "for": "P1D"}, "a wait has one of 'for', 'until' and 'signal'"),
        ({"until": "${trigger.due}", "timeout": "P1D"}, "'timeout' goes with 'signal'"),
    ],
)
def test_a_wait_ends_in_one_way(wait: dict[str, Any], message: str) -> None:
    (problem,) = problems(wait)
    assert message in problem


def test_a_problem_says_what_is_missing() -> None:
    (problem,) = problems({"signal": "closed", "timeout": "${trigger.word}"})
    why = "'trigger.word' is not sure to give a duration such as P14D; its schema does not say 'format: duration'"
    assert problem == f"steps[0].wait.timeout: {why}"


WAITING = {
    **VERBS,
    "ask": replace(VERBS["do"], name="ask", kind=Kind.DURABLE, wait_type="external"),
    "pass": replace(VERBS["look"], name="pass", kind=Kind.DURABLE, wait_type="timer"),
}


def step_problems(step: dict[str, Any]) -> list[str]:
    value = {
        "name": "t",
        "version": 1,
        "title": "T",
        "trigger": {"type": "t.t", "schema": SCHEMA},
        "steps": [{"id": "hold", **step}],
    }
    found = load_runbook(Source("t.yaml", value, {}), WAITING)
    return [str(problem).partition(": ")[2] for problem in found.problems]


def waiting_steps(until: str) -> list[tuple[str, dict[str, Any]]]:
    """Return a call of a durable verb and a run, each until a moment, with the place of that."""
    run = {"runbook": "t", "until": until}
    return [
        ("steps[0].until", {"verb": "ask", "until": until}),
        ("steps[0].run.until", {"run": run}),
    ]


@pytest.mark.parametrize("text", SURE_MOMENTS)
def test_calls_and_runs_wait_until_a_moment(text: str) -> None:
    assert [step_problems(step) for _, step in waiting_steps(text)] == [[], []]


@pytest.mark.parametrize("text", UNSURE_MOMENTS)
def test_calls_and_runs_wait_until_nothing_that_may_be_no_moment(text: str) -> None:
    for place, step in waiting_steps(text):
        (problem,) = step_problems(step)
        assert problem.startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"verb": "ask", "until": "${trigger.due}", "timeout": "P1D"}, "'until' says another time"),
        ({"verb": "do", "until": "${trigger.due}"}, "'until' is for durable verbs"),
        ({"verb": "pass", "until": "${trigger.due}"}, "'until' is for durable verbs"),
        ({"set": {"a": 1}, "until": "${trigger.due}"}, "'until' goes with 'verb'"),
        ({"run": {"runbook": "t"}}, "'run' needs 'timeout' or 'until', and not both"),
        ({"run": {"runbook": "t", "timeout": "P1D", "until": "${trigger.due}"}}, "'run' needs 'timeout' or 'until'"),
        ({"continue_with": {"runbook": "t", "until": "${trigger.due}"}}, "'until' goes with 'run', which waits"),
    ],
)
def test_until_goes_with_what_waits_and_stands_for_the_timeout(step: dict[str, Any], message: str) -> None:
    (problem,) = step_problems(step)
    assert message in problem


STEPS = [{"id": "over", "end": {"outcome": "closed"}}]
RESPONSE_SCHEMA = {"required": ["case"], "properties": {"case": {"type": "string"}}}
SAID = {"succeeded": "Done for ${trigger.case}.", "failed": "Not done.", "outcomes": {"closed": "It was closed."}}


def loaded(response: Any = None) -> LoadedRunbook:
    more = {} if response is None else {"response": response}
    trigger = {"type": "t.t", "schema": RESPONSE_SCHEMA}
    value = {"name": "t", "version": 1, "title": "T", "trigger": trigger, "steps": STEPS, **more}
    return load_runbook(Source("t.yaml", value, {}), {})


def test_a_definition_keeps_what_is_said_at_the_end() -> None:
    definition = loaded(SAID).definition
    assert definition is not None
    assert from_canonical(definition.canonical).response == definition.response == ResponseSpec.model_validate(SAID)
    assert definition_document(definition)["response"] == SAID


def test_a_definition_that_says_nothing_of_its_end_keeps_its_digest() -> None:
    definition = loaded().definition
    assert definition is not None
    assert "response" not in definition_document(definition)


@pytest.mark.parametrize(
    ("status", "outcome", "text"),
    [
        (RunStatus.SUCCEEDED, "", "Done for ${trigger.case}."),
        (RunStatus.SUCCEEDED, "closed", "It was closed."),
        (RunStatus.SUCCEEDED, "other", "Done for ${trigger.case}."),
        (RunStatus.FAILED_TERMINAL, "", "Not done."),
        (RunStatus.CANCELED, "", None),
    ],
)
def test_the_word_with_which_a_run_ends_goes_before_its_status(
    status: RunStatus, outcome: str, text: str | None
) -> None:
    assert ResponseSpec.model_validate(SAID).text_for(status, outcome) == text


@pytest.mark.parametrize(
    ("response", "path", "message"),
    [
        ({"succeeded": "${trigger.cas}"}, "response.succeeded", "there is no 'cas' (did you mean 'case'?)"),
        ({"failed": "${steps.look.result}"}, "response.failed", "unknown step 'look'"),
        ({"canceled": "${trigger.}"}, "response.canceled", "expression"),
        ({"outcomes": {"closed": "${params.x}"}}, "response.outcomes.closed", "unknown variable 'params'"),
        ({"outcomes": {"close": "x"}}, "response.outcomes.close", "outcome 'close' (did you mean 'closed'?)"),
        ({"succeeded": ""}, "response.succeeded", "may not be empty"),
        ({"success": "x"}, "response", "success"),
    ],
)
def test_what_cannot_be_is_a_problem_with_its_place(response: dict[str, Any], path: str, message: str) -> None:
    found = loaded(response)
    assert found.definition is None
    assert any(problem.path.startswith(path) and message in problem.message for problem in found.problems)


def test_functions_of_packs_have_no_place_in_it() -> None:
    with installed(*FUNCTIONS):
        (problem,) = loaded({"succeeded": "${string(kyc_is_lei(trigger.case))}"}).problems
    assert (problem.path, problem.code) == ("response.succeeded", "rule")
    assert "'kyc_is_lei' is a function of a pack" in problem.message
