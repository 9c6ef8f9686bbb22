"""Conditions: what cannot hold or be a boolean is a fault; what only a run can show is a warning."""

from collections.abc import Iterator

from runtime.definitions.cel.comparisons import Comparison, Literal, Operand, comparisons, is_number_or_text
from runtime.definitions.cel.expressions import compile_expression
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.loading.params import Fault
from runtime.definitions.problems import hint
from runtime.definitions.schemas import compatible, type_of
from runtime.definitions.scope import Scope

WARNING = "open_type"
"""The code of what is found only while it runs: the schema does not say what type there is."""

_BOOLEAN = frozenset({"boolean"})


def check_condition(source: str, scope: Scope) -> list[Fault]:
    """Return what is wrong with a condition; faults with the code WARNING do not keep it from running."""
    try:
        expression = compile_expression(source)
        if dangling := scope.dangling(expression.references):
            return [Fault((), "dangling_reference", message) for message in dangling]
        found = scope.types_of(expression)
    except ExpressionError as error:
        return [Fault((), "expression", str(error))]
    if not compatible(found, _BOOLEAN):
        given = " or ".join(sorted(found or ()))
        return [Fault((), "type_mismatch", f"a condition gives a boolean, but '{source}' gives {given}")]
    if is_number_or_text(source):
        return [Fault((), "type_mismatch", f"a condition gives a boolean, but '{source}' gives a number or a text")]
    if expression.only and found is None:
        return [
            Fault((), WARNING, f"the schema does not say that '{source}' is a boolean; if it is none, the step fails")
        ]
    return [fault for each in comparisons(source) for fault in _compared(each, scope)]


def _compared(comparison: Comparison, scope: Scope) -> Iterator[Fault]:
    sides = (comparison.left, comparison.right)
    if not all(isinstance(side, Literal) or _is_known(side, scope) for side in sides):
        return  # bound by a loop
    left, right = (_types(side, scope) for side in sides)
    if not compatible(left, right):
        said = f"{_shown(sides[0])} {comparison.operator} {_shown(sides[1])}"
        yield Fault((), "type_mismatch", f"'{said}' compares {_or(left)} with {_or(right)}")
    elif (left is None) != (right is None):
        open_ = sides[0] if left is None else sides[1]
        yield Fault((), WARNING, f"the schema does not say of what type '{_shown(open_)}' is, which is compared")
    else:
        yield from _unseen(comparison.left, comparison.right, scope)
        yield from _unseen(comparison.right, comparison.left, scope)


def _unseen(side: Operand, other: Operand, scope: Scope) -> Iterator[Fault]:
    """Yield what is wrong with a literal that can never stand where it is compared with what stands there."""
    if isinstance(side, Literal) or not isinstance(other, Literal):
        return
    values = scope.values_at(side)
    if values and other.value not in values and isinstance(other.value, str):
        known = " or ".join(f"'{value}'" for value in values)
        yield Fault(
            (), "never", f"'{_shown(side)}' is {known}, never '{other.value}'{hint(other.value, map(str, values))}"
        )


def _is_known(side: Operand, scope: Scope) -> bool:
    return not isinstance(side, Literal) and (side.root in scope.roots or side.root in ("steps", "approvals"))


def _types(side: Operand, scope: Scope) -> frozenset[str] | None:
    return frozenset({type_of(side.value)}) if isinstance(side, Literal) else scope.types_at(side)


def _shown(side: Operand) -> str:
    return str(side) if not isinstance(side, Literal) else repr(side.value)


def _or(names: frozenset[str] | None) -> str:
    return " or ".join(sorted(names or ()))
