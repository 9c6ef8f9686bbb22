"""Rules for verbs beyond the shape of their declaration; and for the params that approvers may edit (`editable`)."""

from collections.abc import Iterator, Mapping

from receipts.redaction import is_secret_name, parse_pointer
from runtime.definitions.cel.expressions import compile_template
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.cel.tokens import Reference
from runtime.definitions.loading.params import check_static, check_text, functions_in, redacted_literals
from runtime.definitions.loading.shapes import EffectShape, ExecutionShape, VerbShape
from runtime.definitions.loading.timing import duration_fault, waiting_rules
from runtime.definitions.problems import Finding, Path, hint
from runtime.definitions.schemas import IN_PLACE, DanglingError, Schema, deref, resolve, types
from runtime.definitions.scope import TEXT, Scope
from runtime.handlers import Handler

_PLAIN = frozenset({"string", "integer", "number", "boolean"})
"""What a person fills in as one field of a form."""
_IDENTITY = ("target", "idempotency_key")


def editing_rules(verb: VerbShape, schema: Schema) -> Iterator[Finding]:
    """Yield what is wrong with the names under `editable`, by the verb's (sound) input schema."""
    if verb.editable is None:
        return
    if verb.effect.class_ != "write" or verb.execution.wait == "human_task":
        yield ("editable",), "rule", "'editable' is for writes that people approve; a read or a review is not edited"
        return
    for index, name in enumerate(verb.editable):
        if wrong := _edit_fault(verb, schema, name) or ("named twice" if name in verb.editable[:index] else ""):
            code = "dangling_reference" if name not in schema.get("properties", {}) else "rule"
            yield ("editable", index), code, f"'{name}': {wrong}"


def _edit_fault(verb: VerbShape, schema: Schema, name: str) -> str:
    """Return why a param may not be edited, "" where it may."""
    properties = schema.get("properties", {})
    if name not in properties:
        return f"no param of input_schema{hint(name, properties)}"
    if is_secret_name(name) or any(parse_pointer(pointer)[0] == name for pointer in verb.redact):
        return "is hidden, so approvers do not see it"
    declared = deref(schema, properties[name]) if isinstance(properties[name], dict) else {}
    kinds = types(schema, declared)
    if not kinds or not kinds <= _PLAIN or IN_PLACE & declared.keys():
        return "no single text, number, choice, or yes and no"
    if name == verb.execution.correlation_field:
        return "is the correlation_field, by which the answer finds its way"
    return next((f"is part of the {key}: with it, it would be another effect" for key in _named_in(verb, name)), "")


def _named_in(verb: VerbShape, name: str) -> Iterator[str]:
    for key in _IDENTITY:
        try:
            references = compile_template(getattr(verb.effect, key) or "").references
        except ExpressionError:
            continue  # which is a finding of its own
        roots = {reference.root: reference.path for reference in references}
        paths = [reference.path for reference in references if reference.root == "params"]
        if "fields_hash" in roots or any(path[:1] in ((), (name,)) for path in paths):
            yield key


TIMER, START, CONTINUE = "timer::wait", "run::start", "run::continue_with"
"""Handlers of the runtime itself."""
DEFAULT_TIMEOUT = "PT30S"
RUN: Schema = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "tenant": TEXT,
        "definition": TEXT,
        "version": {"type": "integer"},
        "reference": TEXT,
        "started_at": {**TEXT, "format": "date-time"},
    },
}

_OF_WRITES = ("tier", "reversible", "target", "idempotency_key", "in_doubt")
_OF_GOVERNED_READS = ("tier", "target")
_OF_ANSWERS = ("correlate", "on_invalid")
_MAY_BE_SAID_OF_WRITES = ("settles_within",)
_TEMPLATES = ("target", "idempotency_key")


def verb_rules(verb: VerbShape, handlers: Mapping[str, Handler]) -> Iterator[Finding]:
    """Yield what is wrong with a verb, apart from its schemas."""
    yield from _kind_rules(verb.execution)
    yield from _waiting_rules(verb.execution)
    yield from _effect_rules(verb.execution, verb.effect)
    yield from _handler_rules(verb.execution, verb.effect, handlers)


def input_rules(verb: VerbShape, schema: Schema) -> Iterator[Finding]:
    """Yield what in a verb does not agree with its (sound) input schema."""
    for fault in check_static(verb.execution.params, schema):
        yield ("execution", "params", *fault.path), fault.code, fault.message
    for fault in redacted_literals(map(pointer_path, verb.redact), verb.execution.params):
        yield ("execution", "params", *fault.path), fault.code, fault.message
    yield from _correlation_rules(verb.execution, schema)
    for index, pointer in enumerate(verb.redact):
        try:
            resolve(schema, pointer_path(pointer))
        except DanglingError as error:
            yield ("redact", index), "dangling_reference", f"'{pointer}' leads nowhere in input_schema: {error}"
    yield from _template_rules(verb, schema)
    yield from editing_rules(verb, schema)


def verb_warnings(verb: VerbShape) -> Iterator[Finding]:
    """Yield what is probably not meant: an idempotency key under which the effects of two runs are one."""
    text = verb.effect.idempotency_key
    if text is not None and not any(str(reference) == "run.id" for reference in _references(text)):
        message = "without ${run.id} in its key, what one run did is never done for another with the same key"
        yield ("effect", "idempotency_key"), "shared_key", message


def _kind_rules(execution: ExecutionShape) -> Iterator[Finding]:
    durable = execution.kind == "durable"
    for key in ("wait", "timeout"):
        if durable and getattr(execution, key) is None:
            yield ("execution",), "missing_key", f"a durable verb needs '{key}'"
    for key in ("wait", "escalation", "remind", "correlation_field", *_OF_ANSWERS):
        if not durable and getattr(execution, key) is not None:
            yield ("execution", key), "rule", f"'{key}' is for durable verbs"
    for key in _OF_ANSWERS:
        if durable and execution.wait != "external" and getattr(execution, key) is not None:
            yield ("execution", key), "rule", f"'{key}' is for 'wait: external', which another system answers"
    if durable and execution.wait != "human_task" and execution.remind is not None:
        yield ("execution", "remind"), "rule", "'remind' is for 'wait: human_task', which people answer"
    if execution.correlate == "by_key" and execution.correlation_field is None:
        yield ("execution", "correlate"), "rule", "'by_key' needs the 'correlation_field' that makes the key"
    yield from _own_handler_rules(execution)


def _own_handler_rules(execution: ExecutionShape) -> Iterator[Finding]:
    if (execution.wait == "child_run") != (execution.handler == START):
        yield ("execution", "wait"), "rule", f"'wait: child_run' and the handler {START} go together"
    if (execution.wait == "timer") != (execution.handler == TIMER):
        yield ("execution", "handler"), "rule", f"'wait: timer' and the handler {TIMER} go together"


def _waiting_rules(execution: ExecutionShape) -> Iterator[Finding]:
    for path, code, message in waiting_rules(execution, execution.timeout or DEFAULT_TIMEOUT):
        yield ("execution", *path), code, message


def _effect_rules(execution: ExecutionShape, effect: EffectShape) -> Iterator[Finding]:
    write = effect.class_ == "write"
    yield from _governed_rules(execution, effect)
    needed = _OF_WRITES if write else _OF_GOVERNED_READS if effect.governed else ()
    for key in needed:
        if getattr(effect, key) is None:
            yield ("effect",), "missing_key", f"a {'write' if write else 'governed read'} needs '{key}'"
    for key in (*_OF_WRITES, *_MAY_BE_SAID_OF_WRITES):
        if not write and key not in needed and key in effect.model_fields_set:
            yield ("effect", key), "rule", f"'{key}' is for writes"
    if effect.settles_within is not None:
        yield from duration_fault(("effect", "settles_within"), effect.settles_within)
    if execution.kind == "durable" and write == (execution.wait == "timer"):
        message = "starting a process is an effect: a durable verb is a write, and a read only if it waits for a timer"
        yield ("effect", "class"), "rule", message


def _governed_rules(execution: ExecutionShape, effect: EffectShape) -> Iterator[Finding]:
    if effect.governed and effect.class_ == "write":
        yield ("effect", "governed"), "rule", "'governed' is for reads: a write always is"
    elif effect.governed and execution.kind == "durable":
        yield ("effect", "governed"), "rule", "'governed' is for reads that ask somebody: a timer asks nobody"


def _handler_rules(
    execution: ExecutionShape, effect: EffectShape, handlers: Mapping[str, Handler]
) -> Iterator[Finding]:
    name = execution.handler
    if name in (TIMER, START, CONTINUE):
        return
    if name not in handlers:
        yield ("execution", "handler"), "unknown_handler", f"unknown handler '{name}'{hint(name, handlers)}"
    elif effect.in_doubt == "reconcile" and handlers[name].reconcile is None:
        yield ("effect", "in_doubt"), "rule", f"the handler '{name}' cannot reconcile; use retry or ask"
    elif effect.class_ == "read" and execution.kind == "sync" and handlers[name].writes:
        yield ("effect", "class"), "rule", f"the handler '{name}' writes; only one that says writes=False may be a read"


def _correlation_rules(execution: ExecutionShape, schema: Schema) -> Iterator[Finding]:
    name = execution.correlation_field
    if name is not None and name not in schema.get("required", ()):
        message = f"'{name}' is not a required param{hint(name, schema.get('required', ()))}"
        yield ("execution", "correlation_field"), "dangling_reference", message


def _template_rules(verb: VerbShape, schema: Schema) -> Iterator[Finding]:
    static: dict[str, Schema] = {name: {} for name in verb.execution.params}
    params = {**schema, "properties": {**static, **schema["properties"]}} if "properties" in schema else schema
    scope = Scope({"params": params, "tenant": TEXT, "run": RUN, "step": TEXT, "fields_hash": TEXT})
    secret = [pointer_path(pointer) for pointer in verb.redact]
    for key in _TEMPLATES:
        text = getattr(verb.effect, key)
        if text is not None:
            for fault in check_text(text, scope):
                yield ("effect", key), fault.code, fault.message
            for name in functions_in(text):
                yield ("effect", key), "rule", f"'{name}' is a function of a pack: these stand in runbooks alone"
            for path in _params_read(text):
                if any(path[: len(hidden)] == hidden or hidden[: len(path)] == path for hidden in secret):
                    yield ("effect", key), "rule", f"'params.{'.'.join(map(str, path))}' is redacted and may not show"


def _params_read(text: str) -> list[Path]:
    return [reference.path for reference in _references(text) if reference.root == "params"]


def _references(text: str) -> tuple[Reference, ...]:
    try:
        return compile_template(text).references
    except ExpressionError:
        return ()


def pointer_path(pointer: str) -> Path:
    """Return the member names and list indexes of a JSON pointer (RFC 6901)."""
    tokens = (token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])
    return tuple(int(token) if token.isdecimal() else token for token in tokens)
