"""JSON Schema (draft 2020-12) as packs use it: every schema describes an object and carries its own definitions.

``$ref`` points to ``#/definitions/NAME`` and nowhere else, so that no schema is ever fetched.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry

from receipts.canonical import dumps, loads
from runtime.definitions.durations import parse_duration
from runtime.definitions.problems import DefinitionError, Path, hint

Json = Any
Schema = Mapping[str, Any]

REF = "#/definitions/"
MAPS = frozenset({"dependentSchemas", "patternProperties", "properties"})
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLE = frozenset({"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"})
IN_PLACE = frozenset({"allOf", "anyOf", "dependentSchemas", "else", "if", "not", "oneOf", "then"})
FORMATS = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "regex", "uuid"))

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:\d\d)")
_JSON_TYPES = {bool: "boolean", dict: "object", float: "number", int: "integer", list: "array", str: "string"}


class DanglingError(DefinitionError):
    """A path leads to a member that the schema does not have."""


@FORMATS.checks("duration", raises=ValueError)
def _is_duration(value: Json) -> bool:
    return not isinstance(value, str) or bool(parse_duration(value))


@FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: Json) -> bool:
    if not isinstance(value, str):
        return True
    return bool(_DATE_TIME.fullmatch(value) and datetime.fromisoformat(value.upper()))


def normalise(schema: Any) -> Any:
    """Return `schema` with the shorthand ``type: uuid`` written out, at every level."""
    if not isinstance(schema, Mapping):
        return schema
    copy = {key: _normalise_member(key, member) for key, member in schema.items()}
    return {**copy, "type": "string", "format": "uuid"} if copy.get("type") == "uuid" else copy


def _normalise_member(key: str, member: Any) -> Any:
    if key in MAPS and isinstance(member, Mapping):
        return {name: normalise(schema) for name, schema in member.items()}
    if key in LISTS and isinstance(member, list):
        return [normalise(schema) for schema in member]
    return normalise(member) if key in SINGLE else member


def subschemas(schema: Schema) -> Iterator[tuple[Path, Any]]:
    """Yield the schemas directly inside `schema`, each with its place."""
    for key, member in schema.items():
        if key in MAPS and isinstance(member, Mapping):
            yield from (((key, name), value) for name, value in member.items())
        elif key in LISTS and isinstance(member, list):
            yield from (((key, index), value) for index, value in enumerate(member))
        elif key in SINGLE and not (key == "additionalProperties" and isinstance(member, bool)):
            yield (key,), member


def bundle(schema: Schema, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` as an object's schema with those `definitions` in it that it needs, directly or not."""
    needed: dict[str, Any] = {}
    ahead = _refs(schema)
    while ahead:
        needed |= {name: definitions[name] for name in ahead}
        ahead = {far for name in ahead for far in _refs(definitions[name])} - needed.keys()
    return {"type": "object", **schema, **({"definitions": needed} if needed else {})}


def _refs(schema: Schema) -> set[str]:
    own = {schema["$ref"].removeprefix(REF)} if "$ref" in schema else set()
    return own.union(*(_refs(member) for _, member in subschemas(schema)))


def deref(root: Schema, schema: Schema) -> Schema:
    """Return what `schema` stands for, following its ``$ref`` into the definitions of `root`."""
    while "$ref" in schema:
        schema = root["definitions"][schema["$ref"].removeprefix(REF)]
    return schema


def is_closed(schema: Schema) -> bool:
    """Tell whether the declared properties are meant to be all there are."""
    others = schema.keys() & (IN_PLACE | {"$ref", "patternProperties"})
    return "properties" in schema and schema.get("additionalProperties", False) is False and not others


def resolve(root: Schema, path: Path) -> Schema | None:
    """Return the schema of what stands at `path`, None where `root` does not say, or raise DanglingError."""
    schema: Schema | None = root
    for part in path:
        if schema is None:
            return None
        schema = member_schema(root, schema, part)
    return schema


def member_schema(root: Schema, schema: Schema, part: str | int) -> Schema | None:
    """Return the schema of the member or list item `part`, None where unknown, or raise DanglingError."""
    schema = deref(root, schema)
    wanted = "object" if isinstance(part, str) else "array"
    known = types(root, schema)
    if known and wanted not in known:
        raise DanglingError(f"{' or '.join(sorted(known))} has no '{part}'")
    if isinstance(part, int):
        items = schema.get("items")
        return items if isinstance(items, Mapping) and "prefixItems" not in schema else None
    if part in schema.get("properties", {}):
        return dict(schema["properties"][part])
    if is_closed(schema):
        raise DanglingError(f"there is no '{part}'{hint(part, schema['properties'])}")
    others = schema.get("additionalProperties")
    return others if isinstance(others, Mapping) and "patternProperties" not in schema else None


def types(root: Schema, schema: Schema | None) -> frozenset[str] | None:
    """Return the JSON types that `schema` admits, or None where it does not say."""
    if schema is None:
        return None
    schema = deref(root, schema)
    if "type" in schema:
        return frozenset([schema["type"]] if isinstance(schema["type"], str) else schema["type"])
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return frozenset(type_of(value) for value in values) if values else None


def type_of(value: Json) -> str:
    """Return the JSON type of `value`."""
    return _JSON_TYPES.get(type(value), "null")


def compatible(given: frozenset[str] | None, wanted: frozenset[str] | None) -> bool:
    """Tell whether a value of a given type may be one of a wanted type; what is unknown may be anything."""
    if given is None or wanted is None:
        return True
    numbers = {"integer", "number"}
    return bool(given & wanted) or bool(given & numbers and wanted & numbers)


def violations(schema: Schema, value: Json) -> list[tuple[Path, str, str]]:
    """Return where `value` does not fit `schema`: the path, the keyword that says so, and a sentence."""
    errors = _validator_of(schema).iter_errors(value)
    found = ((tuple(error.absolute_path), str(error.validator), error.message[:200]) for error in errors)
    return sorted(found, key=lambda fault: ([str(part) for part in fault[0]], fault[1:]))


def for_people(fault: tuple[Path, str, str]) -> str:
    """Return what is wrong with a value in words for people who fill in a form: no regular expression is one."""
    _, keyword, message = fault
    return "is not in the expected format" if keyword == "pattern" else message


_BY_IDENTITY: dict[int, tuple[Schema, Draft202012Validator]] = {}
_MOST_KEPT = 1024


def _validator_of(schema: Schema) -> Draft202012Validator:
    """Return the validator of a schema that nobody changes: of the same object it is known without another look."""
    kept = _BY_IDENTITY.get(id(schema))
    if kept is not None and kept[0] is schema:
        return kept[1]
    if len(_BY_IDENTITY) >= _MOST_KEPT:
        _BY_IDENTITY.clear()
    validator = _validator(dumps(schema))
    _BY_IDENTITY[id(schema)] = (schema, validator)
    return validator


@lru_cache(maxsize=_MOST_KEPT)
def _validator(schema: bytes) -> Draft202012Validator:
    return Draft202012Validator(loads(schema), registry=Registry(), format_checker=FORMATS)
