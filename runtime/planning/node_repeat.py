"""`repeat`: a block once for each item of a list, or as long as or until a condition holds.

An iteration is a step: over a list all have their rows from the start, so that what one costs does not grow with the
list. Nothing reads all of them but `collect`, once, at the end.
"""

from receipts.canonical import dumps
from runtime.definitions.cel.expressions import evaluate_condition, render
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.nodes import MAX_ITERATIONS, RepeatSpec
from runtime.definitions.scope import references_in, references_in_condition, steps_of
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.model.steps import ParamsError, inside, iterated, iteration
from runtime.planning.expression_context import Context, context_of
from runtime.planning.plan_builder import STATE_BYTES, Planning
from runtime.planning.step_params import expect_kept
from runtime.planning.transition import Json

COLLECTED_BYTES = STATE_BYTES
"""Of what the iterations of a repeat give, as JSON: like the state it is read and written whole."""


def start_repeat(planning: Planning, path: str, context: Context) -> None:
    """Begin with the first iteration, or as many as may go on at once."""
    spec = _spec(planning, path)
    if spec.for_each is not None:
        _start_each(planning, path, spec, _items(spec.for_each, context))
    elif spec.while_ is not None and not evaluate_condition(spec.while_, {**context, "index": 0}):
        _finish(planning, path, 0, met=True)
    else:
        planning.move(path, StepState(StepStatus.PARKED, kept={}))
        _start_next(planning, path, 0, fresh=True)


def close_iteration(planning: Planning, path: str) -> None:
    """End an iteration, and go on with the next, or end with the last."""
    holder, index = iterated(path) or ("", 0)
    spec = _spec(planning, holder)
    context = _context_inside(planning, path, spec)
    collected = None if spec.collect is None else _collect(planning, holder, spec, context)
    met = _is_met(planning, holder, spec, context, index + 1)
    planning.move(path, StepState(StepStatus.SUCCEEDED, collected))
    if spec.for_each is not None:
        _after_item(planning, holder, index, spec)
    elif met or index + 1 == spec.at_most:
        _finish(planning, holder, index + 1, met=met)
    else:
        _start_next(planning, holder, index + 1, fresh=True)


def _collect(planning: Planning, path: str, spec: RepeatSpec, context: Context) -> Json:
    """Return what an iteration gives; raise ParamsError where all have given more by now than can be kept.

    It is counted as it grows: at the end the iterations are loaded together.
    """
    value = render(spec.collect, context)
    expect_kept(value, "collect")
    kept = planning.look(path).kept
    collected = kept.get("collected", 0) + len(dumps(value))
    if collected > COLLECTED_BYTES:
        raise ParamsError(f"collect: {collected} bytes as JSON by now, and at most {COLLECTED_BYTES} are kept")
    planning.keep(path, {**kept, "collected": collected})
    return value


def _is_met(planning: Planning, path: str, spec: RepeatSpec, context: Context, index: int) -> bool:
    """Return whether what the repeat was for has come about: its `until` holds, or its `while` does no more."""
    if spec.until is not None:
        return evaluate_condition(spec.until, context)
    if spec.while_ is not None:
        return not evaluate_condition(spec.while_, {**context_of(planning, path), "index": index})
    return False


def _spec(planning: Planning, path: str) -> RepeatSpec:
    return planning.definition.spec(path, RepeatSpec)


def _items(source: str, context: Context) -> list[Json]:
    items = render(source, context)
    if not isinstance(items, list):
        raise ExpressionError(f"'{source}' gives no list to repeat over")
    if len(items) > MAX_ITERATIONS:
        raise ExpressionError(f"'{source}' gives {len(items)} items, at most {MAX_ITERATIONS} are repeated over")
    return items


def _start_each(planning: Planning, path: str, spec: RepeatSpec, items: list[Json]) -> None:
    if not items:
        _finish(planning, path, 0)
        return
    started = min(spec.at_most_at_once, len(items))
    planning.move(path, StepState(StepStatus.PARKED, kept={"count": len(items), "started": started, "ended": 0}))
    for index, item in enumerate(items):
        planning.add(iteration(path, index), StepState(StepStatus.PENDING, kept={"item": item, "index": index}))
    for index in range(started):
        _start_next(planning, path, index, fresh=False)


def _start_next(planning: Planning, path: str, index: int, *, fresh: bool) -> None:
    one = iteration(path, index)
    if fresh:
        planning.add(one, StepState(StepStatus.PARKED, kept={"index": index}))
    else:
        planning.move(one, StepState(StepStatus.PARKED))
    planning.enter(one)


def _after_item(planning: Planning, path: str, index: int, spec: RepeatSpec) -> None:
    """Go on behind an item: what runs one after the other needs no counting, the number says how far it is."""
    kept = planning.look(path).kept
    count, at_once = kept["count"], spec.at_most_at_once
    started = kept["started"] if at_once > 1 else index + 1
    ended = kept["ended"] + 1 if at_once > 1 else index + 1
    if started < count:
        _start_next(planning, path, started, fresh=False)
        started += 1
    if ended == count:
        _finish(planning, path, count)
    elif at_once > 1:
        planning.keep(path, {**kept, "started": started, "ended": ended})


def _context_inside(planning: Planning, path: str, spec: RepeatSpec) -> Context:
    """Return what `collect` and `until` may read: what the repeat may, and the steps of the iteration."""
    names = steps_of(references_in(spec.collect) | references_in_condition(spec.until))
    of_block = {inside(path, name) for name in names}.intersection(planning.definition.block(path))
    return context_of(planning, path, sorted(of_block))


def _finish(planning: Planning, path: str, count: int, *, met: bool | None = None) -> None:
    """End with how many there were, what was collected, and whether the condition was met."""
    result: dict[str, Json] = {"count": count}
    if met is not None:
        result["met"] = met
    if _spec(planning, path).collect is not None:
        every = tuple(iteration(path, index) for index in range(count))
        result["results"] = [state.result for state in planning.look_all(every).values()]
    planning.move(path, StepState(StepStatus.SUCCEEDED, result))
