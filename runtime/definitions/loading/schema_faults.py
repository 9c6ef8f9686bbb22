"""Faults of a schema that an author wrote, beyond what JSON Schema's own schema finds.

JSON Schema ignores keywords that it does not know; here they are mistakes, as are names that lead nowhere. JSON
Schema's own schema stands here in one document: it says what its eight parts say together, at a seventh of their cost.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY

from runtime.definitions.problems import Path, hint
from runtime.definitions.schemas import FORMATS, IN_PLACE, LISTS, MAPS, REF, SINGLE, Schema, is_closed, subschemas

_META_SCHEMA = Draft202012Validator.META_SCHEMA
_META_ID = _META_SCHEMA["$id"].removesuffix("schema")


def one_document() -> dict[str, Any]:
    """Return the standard's own schema without its parts."""
    parts = [_META_SCHEMA, *(REGISTRY.contents(f"{_META_ID}{part['$ref']}") for part in _META_SCHEMA["allOf"])]
    merged: dict[str, Any] = {"type": ["object", "boolean"]}
    for group in ("$defs", "properties"):
        merged[group] = {name: _static_refs(member) for part in parts for name, member in part.get(group, {}).items()}
    return merged


def _static_refs(member: Any) -> Any:
    """Return a part with all its references plain: dynamic ones lead to the whole, others stay in the document."""
    if isinstance(member, list):
        return [_static_refs(item) for item in member]
    if not isinstance(member, dict):
        return member
    if "$dynamicRef" in member:
        return {**{name: item for name, item in member.items() if name != "$dynamicRef"}, "$ref": "#"}
    if "$ref" in member:
        return {**member, "$ref": f"#{member['$ref'].partition('#')[2]}"}
    return {name: _static_refs(item) for name, item in member.items()}


META_VALIDATOR = Draft202012Validator(one_document())
"""Finds what is wrong with a schema of draft 2020-12."""


Fault = tuple[Path, str]

MOST_FAULTS = 100
"""How many faults of one place are named: each unknown keyword is compared with all that are known."""

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_KEYWORDS = (
    MAPS
    | LISTS
    | SINGLE
    | frozenset(
        "$comment $ref"  # noqa: SIM905 - one word a line reads worse
        " const default dependentRequired deprecated description enum examples exclusiveMaximum"
        " exclusiveMinimum format maxContains maxItems maxLength maxProperties maximum minContains minItems minLength"
        " minProperties minimum multipleOf pattern required title type uniqueItems".split()
    )
)


def definition_faults(definitions: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with the definitions of a file, each with its place among them; only the first are named."""
    yield from _first(_definition_faults(definitions))


def object_faults(schema: Any, definitions: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with a schema that has to describe an object; only the first faults are named."""
    yield from _first(_object_faults(schema, definitions))


def _first(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Yield the first faults, and that there are more; those are not looked for."""
    rest = iter(faults)
    yield from islice(rest, MOST_FAULTS)
    if next(rest, None):
        yield (), f"more than {MOST_FAULTS} problems here: the first are named"


def _definition_faults(definitions: Mapping[str, Any]) -> Iterator[Fault]:
    for name, schema in definitions.items():
        yield from (((name, *path), message) for path, message in _schema_faults(schema, definitions))
    for name in _endless(definitions):
        yield (name,), f"'{name}' refers to itself without a step into a member"


def _object_faults(schema: Any, definitions: Mapping[str, Any]) -> Iterator[Fault]:
    if isinstance(schema, Mapping) and schema.get("type", "object") != "object":
        yield ("type",), f"expected an object's schema, not one of type {schema['type']}"
    yield from _schema_faults(schema, definitions)


def _schema_faults(schema: Any, definitions: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with a schema, each with its place in it."""
    own = _faults(schema, definitions, ())
    first = next(own, None)
    if first is None:
        yield from ((tuple(error.absolute_path), error.message[:200]) for error in META_VALIDATOR.iter_errors(schema))
        return
    yield first
    yield from own


def _faults(schema: Any, definitions: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    if not isinstance(schema, Mapping):
        yield path, "expected a schema, which is a mapping"
        return
    for key in sorted(schema.keys() - _KEYWORDS):
        yield (*path, key), f"unknown schema keyword '{key}'{hint(key, _KEYWORDS)}"
    for key, check in (("type", _type_fault), ("format", _format_fault), ("pattern", _pattern_fault)):
        if key in schema and (fault := check(schema[key])):
            yield (*path, key), fault
    patterns = schema.get("patternProperties")
    for key in patterns if isinstance(patterns, Mapping) else ():
        if fault := _pattern_fault(key):
            yield (*path, "patternProperties", key), fault
    if "$ref" in schema and (fault := _ref_fault(schema, definitions)):
        yield (*path, "$ref"), fault
    yield from _required_faults(schema, path)
    for place, member in subschemas(schema):
        yield from _faults(member, definitions, (*path, *place))


def _type_fault(value: Any) -> str:
    for name in value if isinstance(value, list) else [value]:
        if str(name) not in _TYPES:
            return f"unknown type '{name}'{hint(name, _TYPES | {'uuid'})}"
    return ""


def _format_fault(value: Any) -> str:
    return "" if str(value) in FORMATS.checkers else f"unknown format '{value}'{hint(value, FORMATS.checkers)}"


def _pattern_fault(value: Any) -> str:
    """Return what is wrong with a regular expression; what Python warns of is a mistake too."""
    try:
        with warnings.catch_warnings(action="error"):
            re.compile(value if isinstance(value, str) else "")
    except (re.error, FutureWarning) as error:
        return f"'{value}' is not a regular expression: {error}"
    return ""


def _ref_fault(schema: Schema, definitions: Mapping[str, Any]) -> str:
    target = str(schema["$ref"])
    name = target.removeprefix(REF)
    if not target.startswith(REF):
        return f"'{target}' does not point to {REF}NAME"
    if name not in definitions:
        return f"dangling reference '{target}'{hint(name, definitions)}"
    beside = sorted(schema.keys() - {"$ref", "description", "title", "default", "$comment"})
    return f"'{beside[0]}' may not stand beside $ref" if beside else ""


def _required_faults(schema: Schema, path: Path) -> Iterator[Fault]:
    """Yield the required names that no property declares, where the properties are all there are."""
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, Mapping) and isinstance(required, list) and is_closed(schema):
        for index, name in enumerate(required):
            if str(name) not in properties:
                yield (*path, "required", index), f"'{name}' is required but not declared{hint(name, properties)}"


def _endless(definitions: Mapping[str, Any]) -> Iterator[str]:
    """Yield the definitions that reach themselves in place: validation against them would not end."""
    direct = {name: set(_in_place_refs(schema)) for name, schema in definitions.items()}
    for name in definitions:
        reached: set[str] = set()
        ahead = set(direct[name])
        while ahead:
            reached |= ahead
            ahead = {far for near in ahead for far in direct.get(near, ())} - reached
        if name in reached:
            yield name


def _in_place_refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield str(schema["$ref"]).removeprefix(REF)
        for place, member in subschemas(schema):
            if place[0] in IN_PLACE:
                yield from _in_place_refs(member)
