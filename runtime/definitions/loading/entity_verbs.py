"""What must hold for a verb of the connector `crud` beside the entity that it is about.

What is fixed by the verb stands in `execution.params`, where no step can change it: policy is asked about a verb's
target, and that has to be what is changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from runtime.definitions.entities import READ, WRITE, Entity, Operation
from runtime.definitions.loading.verbs import LoadedVerb
from runtime.definitions.model import Kind, Verb
from runtime.definitions.problems import Finding, hint
from runtime.definitions.schemas import is_closed

Entities = Mapping[str, Entity | None]

_VERSION = "expected_version"


def checked(loaded: LoadedVerb, entities: Entities) -> LoadedVerb:
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
