"""What must hold for `compensate` and `on_cancel`, which name another verb: looked at when all verbs are known."""

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.definitions.cel.expressions import compile_template, is_dynamic
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.loading.params import check_params, functions_in
from runtime.definitions.loading.verb_rules import RUN, pointer_path
from runtime.definitions.model import Compensation, EffectClass, Kind, Verb
from runtime.definitions.problems import Finding, Path, hint
from runtime.definitions.schemas import Schema
from runtime.definitions.scope import TEXT, Scope

KEYS = ("compensate", "on_cancel")


def compensation_findings(verb: Verb, verbs: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is wrong with how a (sound) verb is taken back; of a verb with problems of its own, nothing."""
    yield from _own_rules(verb)
    for key in KEYS:
        way = getattr(verb, key)
        if way is not None:
            yield from (((key, *path), code, message) for path, code, message in _way_findings(verb, way, verbs))


def _own_rules(verb: Verb) -> Iterator[Finding]:
    for key in KEYS:
        if getattr(verb, key) is not None and verb.effect_class is not EffectClass.WRITE:
            yield (key,), "rule", f"'{key}' is for writes"
    if verb.on_cancel is not None and verb.wait_type != "external":
        yield ("on_cancel",), "rule", "'on_cancel' is for 'wait: external', which another system answers"
    if verb.compensate is not None and verb.effect_class is EffectClass.WRITE and verb.reversible_by is None:
        yield ("effect", "reversible"), "rule", f"what '{verb.compensate.verb}' undoes is reversible: say by what"


def _way_findings(verb: Verb, way: Compensation, verbs: Mapping[str, Any]) -> Iterator[Finding]:
    by = verbs.get(way.verb)
    if way.verb not in verbs:
        yield ("verb",), "unknown_verb", f"unknown verb '{way.verb}'{hint(way.verb, verbs)}"
    if not isinstance(by, Verb):
        return  # its problems are its own
    if by.effect_class is not EffectClass.WRITE:
        yield ("verb",), "rule", f"'{way.verb}' is a read, and undoes nothing"
    for fault in check_params(way.params, by.static_params, by.input_schema, scope_of(verb)):
        yield ("params", *fault.path), fault.code, fault.message
    yield from _hidden(verb, by, way.params)


def scope_of(verb: Verb) -> Scope:
    """Return what the params of a compensation may refer to. What a durable verb's start returns is not declared."""
    static: dict[str, Schema] = {name: {} for name in verb.static_params}
    properties = {**static, **verb.input_schema.get("properties", {})}
    request = {**verb.input_schema, "properties": properties} if "properties" in verb.input_schema else None
    response = verb.output_schema if verb.kind is Kind.SYNC else None
    return Scope({"request": request, "response": response, "before": None, "run": RUN, "tenant": TEXT})


def _hidden(verb: Verb, by: Verb, params: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what nobody may see: an undo is made from the records, and its params stand in its definition."""
    for pointer in by.redact:
        if pointer_path(pointer)[0] in params:
            message = f"'{by.name}' redacts {pointer}; what undoes may hold nothing that nobody may see"
            yield ("params", pointer_path(pointer)[0]), "redacted_literal", message
    for name in functions_in(params):
        yield ("params",), "rule", f"'{name}' is a function of a pack: these stand in runbooks alone"
    secret = [pointer_path(pointer) for pointer in verb.redact]
    for path, read in _request_reads(params, ()):
        if any(read[: len(hidden)] == hidden or hidden[: len(read)] == read for hidden in secret):
            message = f"'request.{'.'.join(map(str, read))}' is redacted: it is on no record, from which undos are made"
            yield ("params", *path), "rule", message


def _request_reads(value: Any, path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield where the params read the request, and which part of it; what does not compile has a problem already."""
    if isinstance(value, str) and is_dynamic(value):
        try:
            references = compile_template(value).references
        except ExpressionError:
            return
        yield from ((path, reference.path) for reference in references if reference.root == "request")
    elif isinstance(value, Mapping | list):
        for part, member in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _request_reads(member, (*path, part))
