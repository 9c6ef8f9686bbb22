"""Entity files, each entity whose declaration is sound, and the rules for verbs of the connector `crud` beside theirs.

What is fixed by such a verb stands in `execution.params`, where no step can change it: policy is asked about a verb's
target, and that has to be what is changed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from runtime.definitions.entities import READ, RESERVED, WRITE, Entity, Operation
from runtime.definitions.loading.schema_faults import definition_faults, object_faults
from runtime.definitions.loading.shapes import EntityFile, EntityShape, read_shape
from runtime.definitions.loading.verbs import LoadedVerb
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import Kind, Verb
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
    file, found = read_shape(EntityFile, source)
    problems += found
    if file is None:
        return
    definitions = {name: normalise(schema) for name, schema in file.definitions.items()}
    faults = [(("definitions", *path), "schema", message) for path, message in definition_faults(definitions)]
    problems += (source.problem(*fault) for fault in faults)
    for index in range(len(file.entities)):
        path: Path = ("entities", index)
        declared, misshapen = read_shape(EntityShape, source, path)
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


Entities = Mapping[str, Entity | None]

_VERSION = "expected_version"


def checked_verb(loaded: LoadedVerb, entities: Entities) -> LoadedVerb:
    """Return a loaded verb with what is wrong with it beside its entity; then it is none that may be used."""
    if loaded.verb is None or loaded.verb.handler not in (WRITE, READ):
        return loaded
    found = tuple(
        loaded.source.problem((*loaded.path, *place), code, message)
        for place, code, message in _rules(loaded.verb, entities)
    )
    return replace(loaded, verb=None, problems=loaded.problems + found) if found else loaded


def _rules(verb: Verb, entities: Entities) -> Iterator[Finding]:
    name, operation = verb.static_params.get("entity"), verb.static_params.get("operation")
    if verb.kind is not Kind.SYNC:
        yield ("execution", "kind"), "rule", f"{verb.handler} returns at once: only a sync verb uses it"
    if unknown := sorted(verb.static_params.keys() - {"entity", "operation"}):
        yield ("execution", "params", unknown[0]), "rule", "of an entity's verb only 'entity' and 'operation' are fixed"
    if verb.handler == WRITE and operation not in [*Operation]:
        yield ("execution", "params"), "rule", f"'operation' is one of {', '.join(Operation)}"
        return
    if verb.handler == READ and operation is not None:
        yield ("execution", "params", "operation"), "rule", f"{READ} has no operations"
    if name is None:
        yield ("execution", "params"), "rule", "'entity' says which entity the verb is about"
    elif not isinstance(name, str) or name not in entities:
        yield ("execution", "params", "entity"), "unknown_entity", f"unknown entity '{name}'{hint(name, entities)}"
    elif (entity := entities[name]) is None:
        yield ("execution", "params", "entity"), "rule", f"the entity '{name}' is invalid itself"
    else:
        yield from _input_rules(verb, entity, Operation(str(operation)) if verb.handler == WRITE else None)


def _input_rules(verb: Verb, entity: Entity, operation: Operation | None) -> Iterator[Finding]:
    schema = verb.input_schema
    if not is_closed(schema):
        yield ("input_schema",), "rule", "the verb of an entity declares its properties, and these are all there are"
        return
    given, required = schema["properties"].keys(), set(schema.get("required", ()))
    wanted = {entity.id}
    if operation is Operation.CREATE:
        wanted = {entity.id, *entity.schema.get("required", ())}
    for name in sorted(wanted - required):
        yield ("input_schema", "required"), "missing_param", f"'{name}' has to be a required param"
    for name in sorted(given - {_VERSION} - entity.schema["properties"].keys()):
        message = f"the entity '{entity.name}' has no field '{name}'{hint(name, entity.schema['properties'])}"
        yield ("input_schema", "properties", name), "unknown_field", message
    yield from _use_rules(verb, entity, operation)


def _use_rules(verb: Verb, entity: Entity, operation: Operation | None) -> Iterator[Finding]:
    """Yield what does not go with the operation: what else is given, and a target that is not the entity."""
    given = verb.input_schema["properties"].keys()
    takes_fields = operation in (Operation.CREATE, Operation.UPDATE)
    takes_version = operation is not None and operation is not Operation.CREATE
    for name in sorted(given - {entity.id}):
        if not (takes_version if name == _VERSION else takes_fields):
            place = ("input_schema", "properties", name)
            yield place, "rule", f"'{name}' is not asked for by {operation or 'a read'}"
    target = f"{entity.name}:${{params.{entity.id}}}"
    if operation is not None and verb.target != target:
        yield ("effect", "target"), "rule", f"the target is what is changed, as '{target}'"
