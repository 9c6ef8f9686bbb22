"""Which functions of packs a runbook's expressions call: its definition names each with its version."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtime.definitions.cel import functions
from runtime.definitions.cel.expressions import Expression, compile_expression, compile_template
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import StepDefinition
from runtime.definitions.nodes import RepeatSpec, SwitchSpec, spec_document


def functions_called(nodes: Iterable[StepDefinition], output: Any) -> dict[str, int]:
    """Return the functions that sound steps, and the output of their runbook, call, each in its newest version."""
    found = {name for node in nodes for one in _expressions(node) for name in one.functions}
    found |= {name for one in _in(output) for name in one.functions}
    return {name: functions.newest(name) for name in sorted(found)}


def functions_in(value: Any) -> list[str]:
    """Return the functions that the texts of a value call; what does not compile calls none."""
    try:
        return sorted({name for one in _in(value) for name in one.functions})
    except ExpressionError:
        return []


def _expressions(node: StepDefinition) -> Iterator[Expression]:
    for condition in _conditions(node):
        yield compile_expression(condition)
    yield from _in(node.params)
    yield from _in(None if node.spec is None else spec_document(node.spec))


def _conditions(node: StepDefinition) -> Iterator[str]:
    spec = node.spec
    if node.when is not None:
        yield node.when
    if isinstance(spec, SwitchSpec):
        yield from spec.cases
    if isinstance(spec, RepeatSpec):
        yield from (condition for condition in (spec.while_, spec.until) if condition is not None)


def _in(value: Any) -> Iterator[Expression]:
    """Yield the expressions in the texts of a value; conditions, which have no `${`, are none of these."""
    if isinstance(value, str):
        yield from compile_template(value).expressions if "${" in value else ()
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for member in members:
        yield from _in(member)
