"""Files of entities: each one whose declaration is sound, and every problem."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtime.definitions.entities import RESERVED, Entity
from runtime.definitions.loading.schema_faults import definition_faults, object_faults
from runtime.definitions.loading.shapes import EntityFile, EntityShape, shape
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.problems import Finding, Path, Problem, hint
from runtime.definitions.schemas import bundle, is_closed, normalise, resolve, types


def load_entities(sources: Iterable[Source], problems: list[Problem]) -> dict[str, Entity | None]:
    """Return the entities by name, None where one is declared and has a problem, which is added to `problems`."""
    entities: dict[str, Entity | None] = {}
    first: dict[str, Problem] = {}
    for source in sources:
        for path, name, entity, found in _of_file(source, problems):
            problems += found
            place = source.problem((*path, "name"), "", "")
            if name in first:
                message = f"the entity '{name}' is declared already in {first[name].file}:{first[name].line}"
                problems.append(source.problem((*path, "name"), "duplicate", message))
            entities[name] = None if name in first else entity
            first.setdefault(name, place)
    return entities


def _of_file(source: Source, problems: list[Problem]) -> Iterator[tuple[Path, str, Entity | None, list[Problem]]]:
    """Yield place, name, entity and problems of each that a file declares; what belongs to none goes to `problems`."""
    file, found = shape(EntityFile, source)
    problems += found
    if file is None:
        return
    definitions = {name: normalise(schema) for name, schema in file.definitions.items()}
    faults = [(("definitions", *path), "schema", message) for path, message in definition_faults(definitions)]
    problems += (source.problem(*fault) for fault in faults)
    for index in range(len(file.entities)):
        path: Path = ("entities", index)
        declared, misshapen = shape(EntityShape, source, path)
        if declared is None:
            yield path, _name(source.value["entities"][index]), None, misshapen
            continue
        wrong = list(_faults(declared, definitions)) if not faults else []
        entity = None if faults or wrong else _entity(declared, definitions)
        yield path, declared.name, entity, [source.problem((*path, *at), code, text) for at, code, text in wrong]


def _name(raw: Any) -> str:
    return str(raw.get("name", "")) if isinstance(raw, Mapping) else ""


def _entity(declared: EntityShape, definitions: Mapping[str, Any]) -> Entity:
    closed = {**normalise(declared.schema_), "additionalProperties": False}
    return Entity(declared.name, declared.description, declared.id, bundle(closed, definitions))


def _faults(declared: EntityShape, definitions: Mapping[str, Any]) -> Iterator[Finding]:
    schema = normalise(declared.schema_)
    faults = list(object_faults(schema, definitions))
    if faults:
        yield from ((("schema", *path), "schema", message) for path, message in faults)
        return
    if not is_closed(schema):
        yield ("schema",), "schema", "an entity declares its properties, and these are all there are"
        return
    for name in sorted(RESERVED & schema["properties"].keys()):
        yield ("schema", "properties", name), "rule", f"'{name}' means something else, and is no field's name"
    if declared.id not in schema.get("required", ()):
        message = f"'{declared.id}' is not a required property{hint(declared.id, schema.get('required', ()))}"
        yield ("id",), "dangling_reference", message
    elif types(root := bundle(schema, definitions), resolve(root, (declared.id,))) != frozenset({"string"}):
        yield ("id",), "rule", f"'{declared.id}' is not a text, and only a text is an id"
