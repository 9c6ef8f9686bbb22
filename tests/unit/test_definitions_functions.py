"""Functions of packs: known by name, called with what they take, in the version that the definition names."""

from collections.abc import Iterator
from typing import Any

import pytest
from countersign_kyc.functions import FUNCTIONS

from receipts.canonical import digest, dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.cel.expressions import PINNED, compile_expression, evaluate_condition, install, render
from runtime.definitions.cel.functions import MAX_SIZE
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.loading.runbooks import LoadedRunbook, load_runbook
from runtime.definitions.loading.yaml_source import parse_source
from runtime.functions import Function, Type
from runtime.model.run import StepState
from runtime.model.states import RunStatus, StepStatus
from runtime.planning.planner import plan
from runtime.planning.transition import Snapshot, Started
from tests.functions import installed
from tests.unit.test_planner_trees import VERBS

LEI = "529900T8BM49AURSDO55"


def _broken(_: str) -> str:
    raise KeyError("gone")


def _refuses(text: str) -> str:
    raise ValueError(f"'{text}' is too odd")


OFFERED = (
    *FUNCTIONS,
    Function("kyc_join", 1, (Type.LIST, Type.TEXT), Type.TEXT, lambda parts, by: by.join(parts)),
    Function("kyc_join", 2, (Type.LIST, Type.TEXT), Type.TEXT, lambda parts, by: by.join(sorted(parts))),
    Function("kyc_long", 1, (Type.INTEGER,), Type.TEXT, lambda count: "x" * count),
    Function("kyc_liar", 1, (), Type.NUMBER, lambda: "seven"),
    Function("kyc_broken", 1, (Type.TEXT,), Type.TEXT, _broken),
    Function("kyc_refuses", 1, (Type.TEXT,), Type.TEXT, _refuses),
)


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    with installed(*OFFERED):
        yield


def pinned(**versions: int) -> dict[str, Any]:
    return {"trigger": {"lei": LEI, "parts": ["b", "a"]}, PINNED: versions}


def test_a_function_is_called_with_values_of_the_run() -> None:
    assert evaluate_condition("kyc_is_lei(trigger.lei)", pinned(kyc_is_lei=1))
    assert not evaluate_condition("kyc_is_lei(trigger.lei + '0')", pinned(kyc_is_lei=1))
    assert evaluate_condition("[trigger.lei].all(one, kyc_is_lei(one))", pinned(kyc_is_lei=1))


def test_a_function_is_called_in_the_version_that_is_named_and_the_newest_where_it_is_checked() -> None:
    text = "${kyc_join(trigger.parts, '-')}"
    assert [render(text, pinned(kyc_join=version)) for version in (1, 2)] == ["b-a", "a-b"]
    assert render("${kyc_join(['b', 'a'], '-')}", {}) == "a-b"


@pytest.mark.parametrize(
    ("expression", "versions", "why"),
    [
        ("kyc_join(trigger.parts, '-')", {"kyc_join": 3}, "kyc_join version 3 is not installed"),
        ("kyc_join(trigger.parts, '-')", {}, "the definition names no version of kyc_join"),
        ("kyc_is_lei(trigger.parts)", {"kyc_is_lei": 1}, "kyc_is_lei: argument 1 is no string"),
        ("kyc_long(1.5)", {"kyc_long": 1}, "kyc_long: argument 1 is no integer"),
        ("kyc_long(true)", {"kyc_long": 1}, "kyc_long: argument 1 is no integer"),
        (f"kyc_long({MAX_SIZE + 1})", {"kyc_long": 1}, "kyc_long: its result is larger than 65536"),
        (
            f"kyc_refuses(kyc_long({MAX_SIZE}) + 'x')",
            {"kyc_long": 1, "kyc_refuses": 1},
            "kyc_refuses: its arguments are",
        ),
        (
            "kyc_liar()",
            {"kyc_liar": 1},
            "kyc_liar is broken: TypeError: it gives a str, and says that it gives a number",
        ),
        ("kyc_broken('a')", {"kyc_broken": 1}, "kyc_broken is broken: KeyError: 'gone'"),
        ("kyc_refuses('a')", {"kyc_refuses": 1}, "kyc_refuses: 'a' is too odd"),
        ("true || kyc_refuses('a') == ''", {"kyc_refuses": 1}, ""),
        ("kyc_refuses('a') == '' || true", {"kyc_refuses": 1}, "kyc_refuses: 'a' is too odd"),
    ],
)
def test_what_a_function_cannot_take_or_give_is_the_expressions_error(
    expression: str, versions: dict[str, int], why: str
) -> None:
    compiled = compile_expression(expression)
    if not why:
        assert compiled.evaluate(pinned(**versions)) is True
        return
    with pytest.raises(ExpressionError) as caught:
        compiled.evaluate(pinned(**versions))
    assert str(caught.value).startswith(f"expression '{expression}': {why}")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("kyc_is_lie(trigger.lei)", "unknown function 'kyc_is_lie' (did you mean 'kyc_is_lei'?)"),
        ("kyc_is_lei()", "kyc_is_lei takes 1 argument, not 0"),
        ("kyc_join([1, 2], '-', {'a': (1, 2)}[0])", None),
        ("kyc_join(['a', 'b'].map(x, x), size([1, 2]), 3)", "kyc_join takes 2 arguments, not 3"),
        ("trigger.lei.kyc_is_lei()", "write kyc_is_lei(…), with nothing before it"),
    ],
)
def test_a_call_that_cannot_be_is_refused_before_anything_runs(expression: str, why: str | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(expression)
    assert why is None or str(caught.value) == f"expression '{expression}': {why}"


def test_what_is_no_longer_offered_is_unknown() -> None:
    assert compile_expression("kyc_is_lei('a')").functions == ("kyc_is_lei",)
    install(())
    with pytest.raises(ExpressionError, match="unknown function 'kyc_is_lei'"):
        compile_expression("kyc_is_lei('a')")


HEAD = """
name: checked
version: 1
title: T
trigger: { type: t.t, schema: { properties: { lei: { type: string }, parts: { type: array } } } }
"""
RUNBOOK = f"""{HEAD}steps:
  - id: sure
    when: "kyc_is_lei(trigger.lei)"
    set: {{ name: "${{kyc_join(trigger.parts, '-')}}" }}
output: {{ ok: "${{kyc_is_lei(trigger.lei)}}" }}
"""


def loaded(text: str) -> LoadedRunbook:
    return load_runbook(parse_source(text.encode(), "checked.yaml"), VERBS)


def test_a_definition_names_the_functions_that_it_calls_with_their_versions() -> None:
    definition = loaded(RUNBOOK).definition
    assert definition is not None
    assert definition.functions == {"kyc_is_lei": 1, "kyc_join": 2}
    document = definition_document(definition)
    assert document["functions"] == {"kyc_is_lei": 1, "kyc_join": 2}
    assert from_canonical(dumps(document)) == definition
    older = {**document, "functions": {"kyc_is_lei": 1, "kyc_join": 1}}
    assert digest(older) != definition.digest


@pytest.mark.parametrize(
    "step",
    [
        "{ id: a, switch: { cases: [{ when: 'kyc_is_lei(trigger.lei)', do: [{ id: b, set: { c: 1 } }] }] } }",
        "{ id: a, repeat: { while: 'kyc_is_lei(trigger.lei)', at_most: 2, do: [{ id: b, set: { c: 1 } }] } }",
        "{ id: a, repeat: { until: 'kyc_is_lei(trigger.lei)', at_most: 2, do: [{ id: b, set: { c: 1 } }] } }",
        "{ id: a, reference: 'is ${kyc_is_lei(trigger.lei)}' }",
        "{ id: a, end: { outcome: o, result: { b: ['${kyc_is_lei(trigger.lei)}'] } } }",
        "{ id: a, verb: look, params: { n: '${kyc_is_lei(trigger.lei)}' } }",
    ],
)
def test_a_function_is_found_wherever_an_expression_may_stand(step: str) -> None:
    runbook = loaded(HEAD + f"steps:\n  - {step}\n")
    assert runbook.definition is not None, runbook.problems
    assert runbook.definition.functions == {"kyc_is_lei": 1}


def test_a_definition_without_functions_says_nothing_of_them() -> None:
    definition = loaded(HEAD + "steps:\n  - { id: a, verb: look }\n").definition
    assert definition is not None
    assert "functions" not in definition_document(definition)


def test_an_unknown_function_is_named_with_file_line_and_path() -> None:
    (problem,) = loaded(RUNBOOK.replace("kyc_join(", "kyc_joyn(")).problems
    why = "expression 'kyc_joyn(trigger.parts, '-')': unknown function 'kyc_joyn' (did you mean 'kyc_join'?)"
    assert str(problem) == f"checked.yaml:9: steps[0].set.name: {why}"


def test_a_plan_calls_what_the_definition_names_though_there_is_something_newer() -> None:
    with installed(*(one for one in OFFERED if one.version == 1)):
        definition = loaded(RUNBOOK).definition
        assert definition is not None
    install(OFFERED)
    steps = {"sure": StepState(StepStatus.PENDING)}
    snapshot = Snapshot("run_1", "acme", RunStatus.QUEUED, {"lei": LEI, "parts": ["b", "a"]}, steps)
    transition = plan(definition, snapshot, Started())
    assert (transition.state, transition.output) == ({"name": "b-a"}, {"ok": True})
    install(FUNCTIONS)
    assert plan(definition, snapshot, Started()).steps["sure"].status is StepStatus.FAILED_TERMINAL
