"""What expressions cost: counted from the tree and the sizes of values, before anything is evaluated."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.definitions.cel.cost import CHUNK, MAX_BUILT, MAX_STEPS, MAX_STEPS_HERE, CostError, cost, pattern_steps
from runtime.definitions.cel.expressions import EVALUATED, compile_expression, evaluate_costly
from runtime.definitions.cel.outcomes import Costly, ExpressionError, NotEvaluatedError, Outcome, TooCostlyError
from runtime.definitions.cel.syntax import parse
from runtime.functions import Function, Type
from runtime.model.run import StepState
from runtime.model.states import RunStatus, StepStatus
from runtime.planning.planner import plan
from runtime.planning.transition import Snapshot, Started
from tests.functions import installed
from tests.unit.test_step_failures import loaded

KYC = "rows.filter(one, one.lei != '' && (one.voting_percent == '' || double(one.voting_percent) >= 25.0))"
"""The shipped filter of subsidiaries."""


def subsidiaries(count: int) -> list[dict[str, Any]]:
    return [
        {
            "lei": f"{number:020d}",
            "name": f"Subsidiary number {number} GmbH",
            "voting_percent": "30.5" if number % 2 else "",
            "country": "DE",
            "city": "Berlin",
            "register": "HRB 1234567",
            "kind": "company",
            "parent": "5299000J2N45DDNE4Y28",
            "depth": 2,
            "source": "bloomberg",
        }
        for number in range(count)
    ]


def here(source: str, context: dict[str, Any]) -> Any:
    return compile_expression(source).evaluate({**context, EVALUATED: None})


@pytest.mark.parametrize(
    ("source", "trigger"),
    [
        ("trigger.items.map(i, trigger.note)", {"items": [1] * 500, "note": "x" * 120_000}),
        ("trigger.items.map(i, trigger.items.map(j, trigger.note))", {"items": [1] * 100, "note": "x" * 12_000}),
        ("trigger.items.map(i, trigger.items.map(j, {'a': i, 'b': j}))", {"items": [1] * 250, "note": ""}),
        ("size(trigger.items.filter(i, true).map(i, trigger.items)) > 0", {"items": [1] * 3000, "note": ""}),
        (" + ".join(["trigger.note"] * 60), {"items": [], "note": "x" * 1_000_000}),
        ("trigger.items.all(i, trigger.note.matches('((a{1,99}){1,99}){1,99}'))", {"items": [1] * 100, "note": "x"}),
    ],
)
def test_an_expression_that_costs_too_much_is_refused_before_it_is_evaluated(
    source: str, trigger: dict[str, Any]
) -> None:
    with pytest.raises(TooCostlyError, match=r"it (costs up to \d+ steps|builds up to \d+ bytes), and at most"):
        here(source, {"trigger": trigger})


def test_the_shipped_filter_over_2500_subsidiaries_is_affordable_and_takes_what_it_should() -> None:
    rows = subsidiaries(2500)
    assert here(KYC, {"rows": rows}) == rows
    assert here(KYC.replace(">= 25.0", ">= 31.0"), {"rows": rows}) == rows[::2]


def test_what_costs_much_is_evaluated_only_where_a_plan_is_made() -> None:
    context = {"rows": subsidiaries(2500)}
    with pytest.raises(TooCostlyError, match="it costs more than the 500000 steps that are allowed here"):
        compile_expression(KYC).evaluate(context)
    with pytest.raises(NotEvaluatedError) as needed:
        compile_expression(KYC).evaluate({**context, EVALUATED: {}})
    key = needed.value.costly.key
    known = {key: Outcome(["as it was evaluated"])}
    assert compile_expression(KYC).evaluate({**context, EVALUATED: known}) == ["as it was evaluated"]
    with pytest.raises(ExpressionError, match="no such thing"):
        compile_expression(KYC).evaluate({**context, EVALUATED: {key: Outcome(None, "no such thing")}})


def test_an_outcome_counts_for_its_expression_and_values_alone() -> None:
    rows = subsidiaries(3)
    one = Costly(KYC, {"rows": rows}, {"f": 1})
    others = [Costly(f"{KYC} ", {"rows": rows}, {"f": 1}), Costly(KYC, {"rows": rows[1:]}, {"f": 1})]
    others.append(Costly(KYC, {"rows": rows}, {"f": 2}))
    assert Costly(KYC, {"rows": subsidiaries(3)}, {"f": 1}).key == one.key
    assert one.key not in {other.key for other in others}


def test_what_a_costly_expression_cannot_do_is_its_outcome() -> None:
    outcome = evaluate_costly(Costly("rows.map(r, r.gone)", {"rows": subsidiaries(1)}, None))
    assert outcome == Outcome(None, "expression 'rows.map(r, r.gone)': there is no gone")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("aü😀", max_size=6),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
SOURCES = st.sampled_from(
    [
        "x.map(i, y)",
        "x.map(i, [i, y])",
        "x.filter(i, i != y)",
        "x.map(i, x.map(j, {'a': i, 'b': y}))",
        "x.map(i, i.a).filter(i, i != null)",
        "[x, y].map(i, i + i)",
        "x + x + y",
        "has(x.a) ? x.a : y",
        "string(x) + string(y)",
        "y in x || x == y",
        "x[0]",
        "x['a'] + y",
        "x.exists(i, y.exists(j, i == j))",
    ]
)


@given(SOURCES, VALUES, VALUES)
def test_the_same_input_costs_the_same_each_time(source: str, x: Any, y: Any) -> None:
    assert cost(parse(source), {"x": x, "y": y}) == cost(parse(source), {"y": y, "x": x}) > 0


@given(SOURCES, st.lists(VALUES, max_size=6), st.lists(VALUES, max_size=3), VALUES)
def test_a_longer_list_never_costs_less(source: str, x: list[Any], more: list[Any], y: Any) -> None:
    assert cost(parse(source), {"x": x, "y": y}) <= cost(parse(source), {"x": x + more, "y": y})


LONG = st.builds(str.__mul__, st.sampled_from("aü😀"), st.integers(0, 600))


@given(SOURCES, VALUES, LONG, LONG)
def test_a_longer_text_never_costs_less(source: str, x: Any, text: str, more: str) -> None:
    assert cost(parse(source), {"x": x, "y": text}) <= cost(parse(source), {"x": x, "y": text + more})


LISTS = st.lists(st.integers(0, 9), max_size=20)


@pytest.mark.parametrize(
    "body",
    [
        "x.all(i, t_seen(i))",
        "x.map(i, t_seen(i))",
        "x.map(i, y.map(j, t_seen(j)))",
        "x.filter(i, y.all(j, t_seen(j)))",
        "x.map(i, i).all(i, t_seen(i))",
        "z.map(i, i.all(j, t_seen(j)))",
        "[x, y].map(i, i.map(j, t_seen(j)))",
        "(size(x) > 3 ? x : y).map(i, t_seen(i))",
    ],
)
@given(x=LISTS, y=LISTS, z=st.lists(LISTS, max_size=9))
def test_an_expression_never_takes_more_turns_than_it_costs(
    body: str, x: list[int], y: list[int], z: list[list[int]]
) -> None:
    turns: list[int] = []

    def seen(value: int) -> bool:
        turns.append(value)
        return True

    context = {"x": x, "y": y, "z": z}
    with installed(Function("t_seen", 1, (Type.INTEGER,), Type.BOOLEAN, seen)):
        here(body, context)
        assert len(turns) <= cost(parse(body), context)


@pytest.mark.parametrize(
    "source",
    [
        "trigger.rows.map(r, r.n * 2)",
        "trigger.rows.filter(r, r.n % 2 == 0)",
        "trigger.rows.map(r, r.n > 3, {'n': r.n, 'of': trigger.limit})",
        "trigger.rows.filter(r, r.n < trigger.limit).map(r, r.n).filter(n, n != 4)",
        "trigger['rows'].map(r, trigger.rows.exists(other, other.n == r.n + 1))",
    ],
)
@given(st.lists(st.integers(0, 30), max_size=3 * CHUNK), st.integers(0, 30))
def test_a_loop_in_parts_gives_what_it_gives_in_one_go(source: str, numbers: list[int], limit: int) -> None:
    trigger = {"rows": [{"n": number} for number in numbers], "limit": limit}
    expression = compile_expression(source)
    assert expression.parts is not None
    assert here(source, {"trigger": trigger}) == expression.program.execute({"trigger": trigger})


@pytest.mark.parametrize(
    "source", ["[1, 2].map(x, x)", "size(trigger.rows.map(r, r))", "trigger.rows.all(r, r)", "f.rows[f.n].map(r, r)"]
)
def test_what_is_not_a_loop_over_a_list_of_the_context_goes_in_one(source: str) -> None:
    assert compile_expression(source).parts is None


@pytest.mark.parametrize("field", ["n", "gone"])
def test_a_fault_in_a_part_is_told_as_in_one_go(field: str) -> None:
    rows = [*({"n": number} for number in range(3 * CHUNK)), {"n": "text"}]
    with pytest.raises(ExpressionError) as in_parts:
        here(f"rows.map(r, r.{field} + 1)", {"rows": rows})
    with pytest.raises(ExpressionError) as in_one:
        here(f"[rows][0].map(r, r.{field} + 1)", {"rows": rows})
    assert str(in_parts.value).partition("': ")[2] == str(in_one.value).partition("': ")[2]


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [("abc", "abcd"), ("a", r"\w"), (r"\w", r"\w{50}"), (r"\w{2,5}", r"\w{2,50}"), ("(ab{3})", "(ab{3}){9}")],
)
def test_a_larger_pattern_costs_more(smaller: str, larger: str) -> None:
    assert pattern_steps(smaller) < pattern_steps(larger)


def test_a_text_that_is_built_has_a_limit_in_bytes() -> None:
    note = "ü" * (MAX_BUILT // 8)
    with pytest.raises(CostError, match="builds up to"):
        cost(parse("a + a + a"), {"a": note})
    assert cost(parse("a == a"), {"a": note}) < MAX_STEPS


def test_results_of_functions_that_are_large_altogether_are_refused() -> None:
    long = Function("t_long", 1, (Type.INTEGER,), Type.TEXT, lambda _: "x" * 20_000)
    with installed(long):
        assert here("rows.map(r, t_long(r))", {"rows": [1, 2, 3]}) == ["x" * 20_000] * 3
        with pytest.raises(ExpressionError, match="t_long: its results are larger than 65536"):
            here("rows.map(r, t_long(r))", {"rows": [1] * 30})


PICK = {"id": "pick", "set": {"picked": f"${{trigger.{KYC}}}"}}


def snapshot(count: int, known: dict[str, Outcome] | None) -> Snapshot:
    trigger = {"rows": subsidiaries(count)}
    steps = {"pick": StepState(StepStatus.PENDING)}
    return Snapshot("run_1", "acme", RunStatus.QUEUED, trigger, steps, evaluated=known)


def test_a_plan_names_the_expression_that_it_needs_and_is_the_same_once_it_is_known() -> None:
    definition = loaded([PICK])
    with pytest.raises(NotEvaluatedError) as needed:
        plan(definition, snapshot(2400, {}), Started())
    costly = needed.value.costly
    known = plan(definition, snapshot(2400, {costly.key: evaluate_costly(costly)}), Started())
    assert known == plan(definition, snapshot(2400, None), Started())
    assert known.steps["pick"].status is StepStatus.SUCCEEDED


@pytest.mark.parametrize("known", [None, {}])
def test_what_costs_too_much_is_an_error_of_the_step_with_a_code_of_its_own(known: dict[str, Outcome] | None) -> None:
    definition = loaded([{"id": "pick", "set": {"picked": f"${{size(trigger.{KYC})}}"}}])
    failed = plan(definition, snapshot(2500, known), Started()).steps["pick"]
    assert (failed.status, failed.error_code) == (StepStatus.FAILED_TERMINAL, "cost")
    assert MAX_STEPS_HERE < MAX_STEPS
    assert f"at most {MAX_STEPS} are allowed" in failed.error
