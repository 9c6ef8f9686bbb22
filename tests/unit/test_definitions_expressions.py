"""Expressions and conditions: references, values, and what is refused at load.

Expressions: what they refer to, what they give, and what is refused.

Conditions: what cannot hold is refused, what only a run can show is a warning, and what is sound passes.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.definitions.cel.comparisons import Comparison, Literal, comparisons, is_number_or_text
from runtime.definitions.cel.expressions import (
    MAX_EXPRESSION,
    compile_expression,
    compile_template,
    evaluate_condition,
    is_dynamic,
    render,
    render_text,
)
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.cel.tokens import Reference, expression_end
from runtime.definitions.loading.catalog import Catalog
from runtime.definitions.loading.conditions import WARNING, check_condition
from runtime.definitions.scope import Scope
from tests.unit.test_definitions_catalog import GOOD, load, pack

CONTEXT = {
    "trigger": {"n": 1, "half": 0.5, "whole": 2.0, "s": "x", "none": None, "list": [1, 2], "yes": True},
    "steps": {
        "look": {"status": "succeeded", "result": {"a": {"b": [7]}}},
        "off": {"status": "skipped", "result": None},
    },
    "run": {"id": "r1", "tenant": "acme", "definition": "d"},
}


def references(source: str) -> list[str]:
    return [str(reference) for reference in compile_expression(source).references]


def reason(call: Any, *arguments: Any) -> str:
    with pytest.raises(ExpressionError) as refused:
        call(*arguments)
    return str(refused.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("steps.look.result.a", ["steps.look.result.a"]),
        ("steps['look'].result[0].a", ["steps.look.result[0].a"]),
        ('steps["look"]["result"]', ["steps.look.result"]),
        ("steps\n .look // steps.gone\n .result", ["steps.look.result"]),
        ("'steps.gone' + steps.look.status", ["steps.look.status"]),
        (r"'it\'s steps.gone' + trigger.s", ["trigger.s"]),
        (r"r'\' + trigger.s + r'\'", ["trigger.s"]),
        ("'''a'steps.gone''' + trigger.s", ["trigger.s"]),
        ("size(trigger.list)", ["trigger.list"]),
        ("trigger.list.size() + trigger.list[trigger.n]", ["trigger.list", "trigger.n"]),
        ("trigger.s.startsWith(run.id)", ["trigger.s", "run.id"]),
        ("trigger.list.map(x, x + steps.look.result.n)", ["trigger.list", "steps.look.result.n"]),
        ("trigger.list.filter(x, x > 1).map(y, y)", ["trigger.list"]),
        ("trigger.list.all(x, x > 0) && x", ["trigger.list", "x"]),
        ("{'steps': trigger.n}.steps", ["trigger.n"]),
        ("trigger.n in [1e3, 0x1F, 1u]", ["trigger.n"]),
        ("has(steps.look.result) ? 1 : 2", ["steps.look.result"]),
    ],
)
def test_references_are_read_off_the_expression(source: str, expected: list[str]) -> None:
    assert references(source) == expected


ATOMS = st.one_of(
    st.sampled_from(["look", "off", "third"]).flatmap(
        lambda step: st.sampled_from(
            [f"steps.{step}.result.a", f"steps['{step}'].status", f"steps . {step} .result"]
        ).map(lambda text: (text, frozenset({step})))
    ),
    st.sampled_from(
        [
            "'steps.evil.result'",
            '"\\"steps.evil"',
            "r'\\'",
            "'''it's steps.evil'''",
            "trigger.n",
            "1.5e3",
            "null",
            "'}'",
        ]
    ).map(lambda text: (text, frozenset[str]())),
)


def combined(inner: st.SearchStrategy[tuple[str, frozenset[str]]]) -> st.SearchStrategy[tuple[str, frozenset[str]]]:
    forms = [
        "({} == {})",
        "[{}, {}]",
        "{{'k': {}, 'steps': {}}}",
        "[{}].exists(v, v == {})",
        "size({}) // steps.evil\n + {}",
    ]
    return st.tuples(st.sampled_from(forms), inner, inner).map(
        lambda parts: (parts[0].format(parts[1][0], parts[2][0]), parts[1][1] | parts[2][1])
    )


@given(ATOMS | combined(ATOMS) | combined(combined(ATOMS)))
def test_steps_of_an_expression_are_found_and_no_others(sample: tuple[str, frozenset[str]]) -> None:
    source, expected = sample
    found = compile_expression(source).references
    assert {reference.path[0] for reference in found if reference.root == "steps"} == expected
    assert expression_end(f"{source}}} tail }}", 0) == len(source)


@given(st.text(alphabet="$ab.[](){}'\"\\,+ rsteps1", max_size=40))
def test_any_text_compiles_or_is_refused(text: str) -> None:
    with suppress(ExpressionError):
        assert compile_expression(text).source == text
    with suppress(ExpressionError):
        assert "${" not in text or compile_template(text).parts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${trigger.n}", 1),
        ("${ trigger.list }", [1, 2]),
        ("${trigger.none}", None),
        ("${steps.look.result.a}", {"b": [7]}),
        ("${{'a': {'b': trigger.n}}}", {"a": {"b": 1}}),
        ("${'}'}", "}"),
        (
            "n=${trigger.n} half=${trigger.half} whole=${trigger.whole} yes=${trigger.yes}",
            "n=1 half=0.5 whole=2 yes=true",
        ),
        ("${run.id}/${run.tenant}", "r1/acme"),
        ("$${trigger.n} costs $5", "${trigger.n} costs $5"),
        ("plain", "plain"),
    ],
)
def test_template_gives(text: str, value: Any) -> None:
    assert render(text, CONTEXT) == value


def test_rendering_reaches_every_depth_and_leaves_what_is_literal() -> None:
    value = {"a": [{"b": "${trigger.s}"}, 5, None], "c": True}
    assert render(value, CONTEXT) == {"a": [{"b": "x"}, 5, None], "c": True}


def test_rendered_value_is_not_rendered_again() -> None:
    assert render("${trigger.s}", {"trigger": {"s": "${run.id}"}}) == "${run.id}"


def test_target_is_text_even_where_it_is_one_expression() -> None:
    assert render_text("${trigger.n}", CONTEXT) == "1"
    assert reason(render_text, "${trigger.none}", CONTEXT) == "expression 'trigger.none': null cannot stand in a text"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${trigger.gone}", "expression 'trigger.gone': there is no gone"),
        ("${steps.never.result}", "expression 'steps.never.result': there is no never"),
        ("${params.x}", "expression 'params.x': there is no params"),
        ("${trigger.list[5]}", "expression 'trigger.list[5]': index out of bounds: 5"),
        ("${trigger.s + trigger.n}", "expression 'trigger.s + trigger.n': Unsupported operation: string + int"),
        ("${1.0 / 0.0}", "expression '1.0 / 0.0': infinity and not-a-number are not JSON"),
        ("${{1: 2}}", "expression '{1: 2}': a map gives JSON only if its keys are text"),
        (r"${['a\u0000']}", r"expression '['a\u0000']': it gives a NUL character, which no record can hold"),
        ("${b'x'}", "expression 'b'x'': bytes is not JSON; convert it with string()"),
        ("${[duration('1h')]}", "expression '[duration('1h')]': timedelta is not JSON; convert it with string()"),
        ("${9007199254740992}", "expression '9007199254740992': a whole number beyond 2^53 is not exact in JSON; "),
        ("${1e300}", "expression '1e300': a whole number beyond 2^53 is not exact in JSON; "),
        ("is ${trigger.list}", "expression 'trigger.list': a list cannot stand in a text"),
        ("is ${steps.look.result}", "expression 'steps.look.result': an object cannot stand in a text"),
    ],
)
def test_evaluation_that_fails_names_the_expression(text: str, message: str) -> None:
    assert reason(render, text, CONTEXT).startswith(message)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 +", "expression '1 +': at 1:4: mismatched input '<EOF>'"),
        ("a\n+ )", "expression 'a\n+ )': at 2:3: mismatched input ')'"),
        ("now()", "expression 'now()': unknown function 'now'"),
        ("optional.of(1)", "expression 'optional.of(1)': unknown function 'of'"),
        (".steps.look.result", "expression '.steps.look.result': '.steps' may not begin with a dot"),
        ("1 in .steps", "expression '1 in .steps': '.steps' may not begin with a dot"),
        ("[1].map(trigger, trigger)", "'trigger' is reserved and may not be bound by map()"),
        ("[1].map(a, [1].map(b, [1].map(c, 1)))", "map, filter, all and exists nested more than 2 deep"),
        ("[1].map(a, 1).map(a, 1).map(a, 1).map(a, 1).map(a, 1)", "more than 4 of map, filter, all and exists"),
        ("1" + " " * MAX_EXPRESSION, f"is longer than {MAX_EXPRESSION} characters"),
        ("(" * 500 + "1" + ")" * 500, "nested too deep"),
    ],
)
def test_expression_that_cannot_be_trusted_does_not_compile(source: str, message: str) -> None:
    assert message in reason(compile_expression, source)


def test_text_that_is_too_long_or_not_closed_does_not_compile() -> None:
    assert "is longer than 65536 characters" in reason(compile_template, "x" * 65537)
    assert reason(compile_template, "a ${ '}'") == "text 'a ${ '}'': the ${ at 3 is not closed"


def test_condition_gives_a_boolean_and_nothing_else() -> None:
    assert evaluate_condition("steps.off.status == 'skipped'", CONTEXT) is True
    assert evaluate_condition("trigger.n > 1", CONTEXT) is False
    message = "expression 'trigger.none': a condition gives a boolean, not null"
    assert reason(evaluate_condition, "trigger.none", CONTEXT) == message


def test_loop_over_more_than_can_be_afforded_is_refused() -> None:
    many = {"trigger": {"list": list(range(5001))}}
    assert evaluate_condition("trigger.list.all(x, x >= 0)", many)
    nested = "trigger.list.exists(x, trigger.list.exists(y, x == y + 1))"
    assert "it costs up to" in reason(evaluate_condition, nested, many)
    assert evaluate_condition(nested, {"trigger": {"list": list(range(150))}})
    assert evaluate_condition("size(trigger.list) == 5001", many)


def test_one_reference_alone_is_known_as_such() -> None:
    assert compile_expression("trigger.list[0]").only == Reference("trigger", ("list", 0))
    assert compile_expression("trigger.n + 1").only is None
    assert compile_expression("trigger.s.size()").only is None


def test_values_are_dynamic_only_where_they_hold_an_expression() -> None:
    assert is_dynamic({"a": ["${x}"]})
    assert not is_dynamic({"${x}": ["$x", {"a": 1}]})


TRIGGER = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "name": {"type": "string"},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "open": {},
    },
}
SCOPE = Scope({"trigger": TRIGGER, "run": {}}, {"first": TRIGGER})


def codes(source: str) -> list[str]:
    return [fault.code for fault in check_condition(source, SCOPE)]


@pytest.mark.parametrize(
    "source",
    [
        "trigger.sure",
        "!trigger.sure",
        "trigger.count > 3 && trigger.share >= 2.5 || trigger.name != 'x'",
        "steps.first.status == 'succeeded' && steps.first.result.name == 'x'",
        "steps.first.status in ['succeeded', 'skipped']",
        "trigger.tags.exists(tag, tag == 'x') && trigger.tags.size() > 0",
        "size(trigger.tags) == 2",
        "'x' in trigger.tags",
        "trigger.count == trigger.share",
        "(trigger.count + 1) * 2 > trigger.share",
        "trigger.sure ? trigger.count > 1 : false",
        "has(trigger.open) && trigger.tags[0] == 'x'",
        "trigger.name.startsWith('a')",
        "trigger.name == null",
        "[1, 2].all(n, n < trigger.count)",
        "string(trigger.count) == '3'",
        "'ann' in approvals.first.signers && size(approvals.first.signers) > 1",
        "approvals.first.signers[0] == 'ann'",
    ],
)
def test_sound_condition_passes(source: str) -> None:
    assert codes(source) == []


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("trigger.count + 1", "type_mismatch"),
        ("approvals.frist.signers == []", "dangling_reference"),
        ("approvals.first.voters == []", "dangling_reference"),
        ("size(approvals) > 0", "dangling_reference"),
        ("approvals.first.signers", "type_mismatch"),
        ("trigger.tags.size()", "type_mismatch"),
        ("string(trigger.sure)", "type_mismatch"),
        ("trigger.count > 'x'", "type_mismatch"),
        ("true == trigger.name", "type_mismatch"),
        ("trigger.count == trigger.name", "type_mismatch"),
        ("steps.first.result.share == 'x'", "type_mismatch"),
        ("steps.first.status == 'failed_terminal'", "never"),
        ("trigger.sure || 'canceled' == steps.first.status", "never"),
        ("steps.first.status in ['skipped', 'running']", "never"),
        ("trigger.open", WARNING),
        ("trigger.open == 'x'", WARNING),
        ("trigger.sure && 3 < steps.first.result.open", WARNING),
    ],
)
def test_condition_that_cannot_hold_is_found(source: str, code: str) -> None:
    assert codes(source) == [code]


def test_comparisons_are_read_off_whole_operands() -> None:
    first = Comparison(Reference("a", ("b",)), "==", Literal("x"))
    assert list(comparisons("(a.b == 'x') && f(c) > 2 && a.b + 1 < 3")) == [first]
    assert not is_number_or_text("a.b - 1 > 2")
    assert is_number_or_text("(a > 1 ? 2 : 3) - 1")


RUNBOOK = """name: probe
version: 1
title: T
trigger: { type: desk.probe, schema: { properties: { open: {} } } }
steps:
  - { id: only, verb: look_up, when: trigger.open, params: { lei: LEI40000000000000000 } }
"""
VERB = """verbs:
  - name: tell
    domain: desk
    description: D
    execution: { kind: sync, handler: "tasks::close" }
    effect: { class: write, tier: low, reversible: false, target: t, idempotency_key: "KEY", in_doubt: ask }
    input_schema: { properties: { id: { type: string } } }
"""


def warned(catalog: Catalog) -> list[str]:
    return [f"{Path(each.file).name}:{each.line} {each.code}" for each in catalog.warnings]


def test_type_that_the_schema_leaves_open_is_a_warning_and_keeps_nothing_from_starting(tmp_path: Path) -> None:
    catalog = load(GOOD, pack(tmp_path, runbooks_probe=RUNBOOK))
    assert warned(catalog) == ["probe.yaml:6 open_type"]
    catalog.require("strict")
    assert catalog.latest("probe")


@pytest.mark.parametrize(
    ("key", "expected"),
    [("t:${params.id}", ["probe.yaml:6 shared_key"]), ("t:${run.definition}", ["probe.yaml:6 shared_key"])],
)
def test_idempotency_key_without_the_run_is_a_warning(tmp_path: Path, key: str, expected: list[str]) -> None:
    assert warned(load(GOOD, pack(tmp_path, verbs_probe=VERB.replace("KEY", key)))) == expected
    assert warned(load(GOOD, pack(tmp_path, verbs_probe=VERB.replace("KEY", "t:${run.id}")))) == []
