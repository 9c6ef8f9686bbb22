"""`switch`: cases in order, exactly one path."""

from runtime.definitions.cel.expressions import compile_expression, evaluate_condition
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.nodes import OTHERWISE, SwitchSpec, case
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.planning.context import Context
from runtime.planning.plan_builder import Planning
from runtime.planning.values import Json


def start(planning: Planning, path: str, context: Context) -> None:
    """Take the first case that holds, or `else`; raise ExpressionError with the values where there is neither."""
    spec = planning.definition.spec(path, SwitchSpec)
    holding = (number for number, when in enumerate(spec.cases, 1) if evaluate_condition(when, context))
    number = next(holding, None)
    if number is None and not spec.otherwise:
        raise ExpressionError(f"no case holds, and there is no else: {_values(spec, context)}")
    branch = OTHERWISE if number is None else case(number)
    if not planning.definition.block(path, branch):
        planning.move(path, StepState(StepStatus.SUCCEEDED, {"branch": branch}))
        return
    planning.move(path, StepState(StepStatus.PARKED, held={"branch": branch}))
    planning.enter(path, branch)


def close(planning: Planning, path: str) -> None:
    """End with the steps of the case."""
    planning.move(path, StepState(StepStatus.SUCCEEDED, planning.look(path).held))


def _values(spec: SwitchSpec, context: Context) -> str:
    """Return what the cases looked at, as far as one can read it."""
    read = dict.fromkeys(reference for when in spec.cases for reference in compile_expression(when).references)
    return ", ".join(f"{reference} is {_at(context.get(reference.root), reference.path)!r}"[:120] for reference in read)


def _at(value: Json, path: tuple[str | int, ...]) -> Json:
    for part in path:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return None
    return value
