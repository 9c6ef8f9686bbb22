"""What must hold for the params of a verb that who may approve a request for it may change (`editable`)."""

from collections.abc import Iterator

from receipts.redaction import is_secret_name, parse_pointer
from runtime.definitions.cel.expressions import compile_template
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.loading.shapes import VerbShape
from runtime.definitions.problems import Finding, hint
from runtime.definitions.schemas import IN_PLACE, Schema, deref, types

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
        if wrong := _fault(verb, schema, name) or ("named twice" if name in verb.editable[:index] else ""):
            code = "dangling_reference" if name not in schema.get("properties", {}) else "rule"
            yield ("editable", index), code, f"'{name}': {wrong}"


def _fault(verb: VerbShape, schema: Schema, name: str) -> str:
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
