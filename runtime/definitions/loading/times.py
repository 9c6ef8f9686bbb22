"""Durations and moments that authors write, literal or as expressions: each is known to be one when it is loaded."""

from collections.abc import Iterator
from typing import Literal as OneOf

from jsonschema.exceptions import FormatError

from runtime.definitions.cel import syntax
from runtime.definitions.cel.expressions import Expression, compile_expression, compile_template
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.cel.parts import reference_of
from runtime.definitions.cel.tokens import Reference
from runtime.definitions.loading.params import Fault, check_text
from runtime.definitions.schemas import FORMATS, Json
from runtime.definitions.scope import Scope

Format = OneOf["duration", "date-time"]

_NOUNS: dict[str, str] = {"duration": "a duration such as P14D", "date-time": "a moment such as 2027-01-31T12:00:00Z"}
_A_DAY = "2027-01-31"


def check_time(text: str, format_: Format, scope: Scope) -> list[Fault]:
    """Return what is wrong with a text that has to be a duration, or a moment, whatever its expressions give."""
    if faults := check_text(text, scope):
        return faults
    template = compile_template(text)
    if template.whole is not None:
        return list(_of_tree(syntax.parse(template.whole.source), template.whole, format_, scope))
    samples = [[part, part] if isinstance(part, str) else _samples(part, scope) for part in template.parts]
    texts = ["".join(parts) for parts in zip(*samples, strict=True)] if all(samples) else []
    if texts and all(_is(text, format_) for text in texts):
        return []
    return [_fault(text, format_, "; of the values in it, a number says its minimum and maximum")]


def _of_tree(tree: syntax.Tree, whole: Expression, format_: Format, scope: Scope) -> Iterator[Fault]:
    """Yield what keeps an expression from being one: of a choice, each of both."""
    match tree:
        case syntax.Choice(_, then, otherwise):
            yield from _of_tree(then, whole, format_, scope)
            yield from _of_tree(otherwise, whole, format_, scope)
        case syntax.Literal(str() as text):
            if not _is(text, format_):
                yield Fault((), "type_mismatch", f"'{text}' is not {_NOUNS[format_]}")
        case syntax.Call("string", (moment,)) if format_ == "date-time" and _is_moment(moment, scope):
            return
        case _:
            reference = reference_of(tree)
            if reference is None or not _is_declared(reference, format_, scope):
                said = f"; its schema does not say 'format: {format_}'" if reference else ""
                yield _fault(whole.source, format_, said)


def _is_moment(tree: syntax.Tree, scope: Scope) -> bool:
    """Tell whether a tree is a time stamp of CEL, and cannot fail to be one."""
    match tree:
        case syntax.Call("timestamp", (syntax.Literal(str() as text),)):
            return _is(text, "date-time")
        case syntax.Call("timestamp", (of,)):
            reference = reference_of(of)
            return reference is not None and _is_declared(reference, "date-time", scope)
        case syntax.Operation("+" | "-", left, syntax.Call("duration", (syntax.Literal(str() as text),))) if left:
            return _is_moment(left, scope) and _is_duration_of_cel(text)
    return False


def _is_duration_of_cel(text: str) -> bool:
    try:
        return bool(compile_expression(f"string(duration('{text}'))").evaluate({}))
    except ExpressionError:
        return False


def _is_declared(reference: Reference, format_: Format, scope: Scope) -> bool:
    schema = scope.schema_at(reference)
    if schema is None:
        return reference.root == "steps"  # a step or verb with a problem of its own
    if values := scope.values_at(reference):
        return all(_is(value, format_) for value in values)
    return schema.get("type") == "string" and schema.get("format") == format_


def _samples(expression: Expression, scope: Scope) -> list[str]:
    """Return two values of a reference between which all lie, as text; nothing where that is not known."""
    schema = (scope.schema_at(expression.only) if expression.only else None) or {}
    if schema.get("type") == "integer" and "minimum" in schema and "maximum" in schema:
        return [str(schema["minimum"]), str(schema["maximum"])]
    return [_A_DAY, _A_DAY] if (schema.get("type"), schema.get("format")) == ("string", "date") else []


def _is(value: Json, format_: Format) -> bool:
    try:
        FORMATS.check(value, format_)
    except FormatError:
        return False
    return isinstance(value, str)


def _fault(source: str, format_: Format, said: str) -> Fault:
    return Fault((), "type_mismatch", f"'{source}' is not sure to give {_NOUNS[format_]}{said}")
