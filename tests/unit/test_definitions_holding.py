"""Where an error waits for a person: what a runbook says of that, and what its definition keeps."""

from typing import Any

from runtime.definitions.canonical import FORMAT, FORMAT_2, definition_document
from runtime.definitions.loading.runbooks import load_runbook
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import Definition
from tests.unit.test_planner_trees import VERBS


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
        {**LOOK, "on_error": "hold"},
        {**PAUSE, "on_error": "hold"},
        {"id": "other", "verb": "look"},
    ]
    definition = loaded(steps)
    assert {path: node.holds for path, node in definition.steps.items()} == {
        "look": True,
        "pause": True,
        "other": False,
    }


def test_what_the_head_says_holds_for_calls_and_waits_that_do_not_say_otherwise() -> None:
    definition = loaded([LOOK, {"id": "other", "verb": "look", "on_error": "fail"}, PAUSE, KEEP], on_error="hold")
    assert [path for path, node in definition.steps.items() if node.holds] == ["look", "pause"]


def test_a_runbook_of_which_no_error_holds_keeps_its_digest() -> None:
    plain = loaded([LOOK])
    assert loaded([{**LOOK, "on_error": "fail"}], on_error="hold").digest == plain.digest
    assert loaded([LOOK], on_error="fail").digest == plain.digest
    assert definition_document(plain)["format"] == FORMAT
    holding = definition_document(loaded([LOOK], on_error="hold"))
    assert (holding["format"], holding["steps"][0]["on_error"]) == (FORMAT_2, "hold")
