"""Params that authors write, literal or with expressions in them, checked against the schemas on both sides.

Functions of packs that a runbook's expressions call: its definition names each with its version.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.definitions.cel import functions
from runtime.definitions.cel.expressions import Expression, Template, compile_expression, compile_template, is_dynamic
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import StepDefinition
from runtime.definitions.nodes import RepeatSpec, SwitchSpec, spec_document
from runtime.definitions.problems import Path, hint
from runtime.definitions.schemas import (
    DanglingError,
    Json,
    Schema,
    compatible,
    deref,
    is_closed,
    member_schema,
    types,
    violations,
)
from runtime.definitions.scope import Scope

_TEXTUAL = frozenset({"boolean", "integer", "number", "string"})


@dataclass(frozen=True)
class Fault:
    """Something wrong at `path` within the checked value."""

    path: Path
    code: str
    message: str
    keyword: str = ""


def check_params(given: Mapping[str, Json], static: Mapping[str, Json], schema: Schema, scope: Scope) -> list[Fault]:
    """Return what is wrong with a step's params over the verb's static ones."""
    check = _Check(schema, scope)
    unknown = list(check.unknown_fields(given, schema, ()))
    places = {fault.path[:-1] for fault in unknown}
    misfits = check.value({**_defaults(schema), **static, **given}, schema, ())
    return unknown + [fault for fault in misfits if fault.keyword != "additionalProperties" or fault.path not in places]


def check_static(static: Mapping[str, Json], schema: Schema) -> list[Fault]:
    """Return what is wrong with a verb's static params: only a schema that says so has to declare them all."""
    check = _Check(schema, Scope({}))
    faults: list[Fault] = []
    for name, value in static.items():
        try:
            faults += check.literal(value, member_schema(schema, schema, name), (name,))
        except DanglingError as error:
            if "additionalProperties" in schema:
                faults.append(Fault((name,), "unknown_field", str(error)))
        if is_dynamic(value):
            faults.append(Fault((name,), "expression", "static params hold no expressions"))
    return faults


def check_text(text: str, scope: Scope) -> list[Fault]:
    """Return what is wrong with a text that stays text: a target or an idempotency key."""
    return list(_Check({}, scope).text(text))


def _defaults(schema: Schema) -> dict[str, Json]:
    properties = schema.get("properties", {})
    return {name: member["default"] for name, member in properties.items() if "default" in member}


def redacted_literals(pointers: Iterable[Path], params: Mapping[str, Json]) -> Iterator[Fault]:
    """Yield the redacted params that are written out: a definition is kept and shown, with all that stands in it."""
    message = "this param is redacted and may not be written out here; take it from the trigger or from a step"
    for pointer in pointers:
        for path in _literals(_at(params, pointer), pointer):
            yield Fault(path, "redacted_literal", message)


def _at(value: Json, path: Path) -> Json:
    for part in path:
        members = dict(_members(value))
        if part not in members:
            return None
        value = members[part]
    return value


def _literals(value: Json, path: Path) -> Iterator[Path]:
    """Yield the places in `value` of texts and numbers that no reference gives; yes, no and nothing tell nothing."""
    if isinstance(value, (Mapping, list)):
        for part, member in _members(value):
            yield from _literals(member, (*path, part))
    elif isinstance(value, str):
        try:
            if not compile_template(value).references:
                yield path
        except ExpressionError:
            return  # a problem of its own
    elif value is not None and not isinstance(value, bool):
        yield path


def _or(names: Iterable[str] | None) -> str:
    return " or ".join(sorted(names or ()))


def _members(value: Json) -> list[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


@dataclass(frozen=True)
class _Check:
    """One check: `root` is the schema that holds the definitions, `scope` what expressions may refer to."""

    root: Schema
    scope: Scope

    def unknown_fields(self, value: Json, schema: Schema | None, path: Path) -> Iterator[Fault]:
        """Yield the fields that a closed schema does not declare, at any depth."""
        if schema is None:
            return
        schema = deref(self.root, schema)
        for part, member in _members(value):
            if isinstance(part, str) and is_closed(schema) and part not in schema["properties"]:
                message = f"unknown field '{part}'{hint(part, schema['properties'])}"
                yield Fault((*path, part), "unknown_field", message)
            else:
                yield from self.unknown_fields(member, self._member(schema, part), (*path, part))

    def value(self, value: Json, schema: Schema | None, path: Path) -> Iterator[Fault]:
        """Yield where `value` cannot fit `schema`; only what holds expressions is taken apart."""
        if not is_dynamic(value):
            yield from self.literal(value, schema, path)
        elif isinstance(value, str):
            yield from self._template(value, schema, path)
        else:
            yield from self._container(value, schema, path)

    def text(self, text: str, path: Path = ()) -> Iterator[Fault]:
        """Yield what is wrong with a text in which every value has to be writable."""
        template, faults = self._compiled(text, path)
        yield from faults
        for expression in template.expressions if template else ():
            found = self.scope.types_of(expression)
            if not compatible(found, _TEXTUAL):
                yield Fault(path, "type_mismatch", f"'{expression.source}' gives {_or(found)}, which is not text")

    def literal(self, value: Json, schema: Schema | None, path: Path) -> Iterator[Fault]:
        """Yield where a value without expressions does not fit `schema`."""
        if schema is not None:
            rooted = {**schema, "definitions": self.root["definitions"]} if "definitions" in self.root else schema
            for place, keyword, message in violations(rooted, value):
                code = "missing_param" if keyword == "required" else "type_mismatch"
                yield Fault((*path, *place), code, message, keyword)

    def _container(self, value: Json, schema: Schema | None, path: Path) -> Iterator[Fault]:
        kind = "object" if isinstance(value, Mapping) else "array"
        schema = deref(self.root, schema) if schema is not None else None
        wanted = types(self.root, schema)
        if not compatible(frozenset({kind}), wanted):
            yield Fault(path, "type_mismatch", f"gives {kind}, expected {_or(wanted)}")
            return
        for name in (schema or {}).get("required", ()) if kind == "object" else ():
            if name not in value:
                yield Fault(path, "missing_param", f"'{name}' is a required property")
        for part, member in _members(value):
            yield from self.value(member, self._member(schema, part), (*path, part))

    def _template(self, text: str, schema: Schema | None, path: Path) -> Iterator[Fault]:
        template, faults = self._compiled(text, path)
        yield from faults
        if template is None:
            return
        expression = template.whole
        if expression and expression.constant:
            yield from self.literal(expression.evaluate({}), schema, path)
            return
        given = self.scope.types_of(expression) if expression else frozenset({"string"})
        wanted = types(self.root, schema)
        if not compatible(given, wanted):
            yield Fault(path, "type_mismatch", f"'{text}' gives {_or(given)}, expected {_or(wanted)}")
        elif not expression:
            yield from self.text(text, path)

    def _compiled(self, text: str, path: Path) -> tuple[Template | None, list[Fault]]:
        """Return the template, or None and what is wrong with it."""
        try:
            template = compile_template(text)
            for expression in template.expressions:
                if expression.constant:
                    expression.evaluate({})
        except ExpressionError as error:
            return None, [Fault(path, "expression", str(error))]
        dangling = self.scope.dangling(template.references)
        return None if dangling else template, [Fault(path, "dangling_reference", message) for message in dangling]

    def _member(self, schema: Schema | None, part: str | int) -> Schema | None:
        try:
            return member_schema(self.root, schema, part) if schema is not None else None
        except DanglingError:
            return None


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
