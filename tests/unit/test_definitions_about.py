"""What a runbook says of what its triggers are about: what is checked, and what its definition keeps."""

from typing import Any

import pytest

from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.loading.runbooks import LoadedRunbook, load_runbook
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import About
from runtime.planning.triggers import TriggerError, reference_of

WAIT = {"id": "word", "wait": {"signal": "news", "timeout": "P1D"}}
SCHEMA = {"required": ["case"], "properties": {"case": {"type": "string"}, "note": {"type": "string"}}}
ABOUT = {"about": "case:${trigger.case}", "signal": "news"}


def loaded(**trigger: Any) -> LoadedRunbook:
    said = {"type": "t.t", "schema": SCHEMA, **trigger}
    value = {"name": "t", "version": 1, "title": "T", "trigger": said, "steps": [WAIT]}
    return load_runbook(Source("t.yaml", value, {}), {})


def test_a_definition_keeps_what_its_triggers_are_about() -> None:
    definition = loaded(**ABOUT).definition
    assert definition is not None
    assert definition.about == About("case:${trigger.case}", "news")
    assert from_canonical(definition.canonical).about == definition.about
    assert definition_document(definition)["trigger"].items() >= ABOUT.items()


def test_a_definition_whose_triggers_are_about_nothing_says_nothing_of_it() -> None:
    definition = loaded().definition
    assert definition is not None
    assert definition.about is None
    assert definition_document(definition)["trigger"].keys() == {"type", "schema"}


@pytest.mark.parametrize(
    ("trigger", "path", "message"),
    [
        ({"about": "x"}, "trigger", "the key 'signal' is missing: 'about' and 'signal' go together"),
        ({"signal": "news"}, "trigger", "the key 'about' is missing: 'about' and 'signal' go together"),
        ({**ABOUT, "signal": "new"}, "trigger.signal", "no step waits for the signal 'new' (did you mean 'news'?)"),
        ({**ABOUT, "about": "${trigger.cas}"}, "trigger.about", "there is no 'cas' (did you mean 'case'?)"),
        ({**ABOUT, "about": "${run.id}"}, "trigger.about", "unknown variable 'run'"),
        ({**ABOUT, "about": "${state.case}"}, "trigger.about", "unknown variable 'state'"),
        ({**ABOUT, "about": "${trigger.}"}, "trigger.about", "expression"),
        ({**ABOUT, "about": ""}, "trigger.about", "may not be empty"),
        ({**ABOUT, "signal": "No"}, "trigger.signal", "does not match"),
    ],
)
def test_what_cannot_be_is_a_problem_with_its_place(trigger: dict[str, Any], path: str, message: str) -> None:
    found = loaded(**trigger)
    assert found.definition is None
    (problem,) = found.problems
    assert str(problem).startswith("t.yaml")
    assert problem.path == path
    assert message in problem.message


@pytest.mark.parametrize(
    ("about", "payload", "message"),
    [
        ("${trigger.note}", {"case": "C1"}, "about: expression 'trigger.note'"),
        ("${trigger.case}", {"case": ""}, "about: a reference has 1 to 256 characters, not 0"),
        ("${trigger.case}", {"case": "x" * 257}, "about: a reference has 1 to 256 characters, not 257"),
    ],
)
def test_a_trigger_that_does_not_say_what_it_is_about_is_refused(
    about: str, payload: dict[str, Any], message: str
) -> None:
    with pytest.raises(TriggerError) as caught:
        reference_of(About(about, "news"), payload)
    assert str(caught.value).startswith(message)
