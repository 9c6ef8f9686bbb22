"""What a runbook says to whoever asked when it ends: what is checked, and what its definition keeps."""

from typing import Any

import pytest
from countersign_kyc.functions import FUNCTIONS

from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.loading.runbooks import LoadedRunbook, load_runbook
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.nodes import ResponseSpec
from runtime.model.states import RunStatus
from tests.functions import installed

STEPS = [{"id": "over", "end": {"outcome": "closed"}}]
SCHEMA = {"required": ["case"], "properties": {"case": {"type": "string"}}}
SAID = {"succeeded": "Done for ${trigger.case}.", "failed": "Not done.", "outcomes": {"closed": "It was closed."}}


def loaded(response: Any = None) -> LoadedRunbook:
    more = {} if response is None else {"response": response}
    trigger = {"type": "t.t", "schema": SCHEMA}
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
