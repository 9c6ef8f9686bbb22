"""Runbook files: the canonical definition where nothing is wrong, and every problem where something is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.checks.conditions import WARNING, check_condition
from runtime.definitions.checks.graph import edges_between, order
from runtime.definitions.checks.params import check_params, redacted_literals
from runtime.definitions.checks.schema_faults import definition_faults, object_faults
from runtime.definitions.checks.schemas import Schema, bundle, normalise
from runtime.definitions.checks.scope import Scope, steps_in, steps_in_condition
from runtime.definitions.durations import parse_days, parse_duration
from runtime.definitions.model import Definition, Edge, StepDefinition, Verb
from runtime.definitions.problems import Finding, Problem, hint
from runtime.definitions.sources.shapes import RunbookFile, StepShape, shape
from runtime.definitions.sources.verb_rules import RUN, pointer_path
from runtime.definitions.sources.verbs import Interface
from runtime.definitions.sources.waiting import duration_fault
from runtime.definitions.sources.yaml_source import Source

Verbs = Mapping[str, Verb | Interface | None]


@dataclass(frozen=True)
class LoadedRunbook:
    """A runbook as a file declares it: `definition` is None where it, or a verb that it uses, has a problem."""

    name: str
    version: int
    trigger_type: str
    source: Source
    definition: Definition | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def load_runbook(source: Source, verbs: Verbs) -> LoadedRunbook:
    """Return the runbook of a file. A verb that is none has problems of its own, which are not repeated."""
    declared, misshapen = shape(RunbookFile, source)
    if declared is None:
        return LoadedRunbook(_name(source.value), 0, "", source, None, tuple(misshapen), ())
    definition, findings = _build(declared, verbs)
    found = tuple(source.problem(*finding) for finding in findings)
    problems = tuple(problem for problem in found if problem.code != WARNING)
    warnings = tuple(problem for problem in found if problem.code == WARNING)
    return LoadedRunbook(declared.name, declared.version, declared.trigger.type, source, definition, problems, warnings)


def _name(value: Any) -> str:
    return str(value.get("name", "")) if isinstance(value, Mapping) else ""


def _build(declared: RunbookFile, verbs: Verbs) -> tuple[Definition | None, list[Finding]]:
    findings: list[Finding] = []
    trigger = _trigger_schema(declared, findings)
    known = {step.verb: verbs.get(step.verb) for step in declared.steps}
    results = {step.id: verb.output_schema if (verb := known[step.verb]) else None for step in declared.steps}
    scope = Scope({"trigger": trigger, "run": RUN}, results)
    findings += _duplicate_steps(declared)
    findings += _retain_findings(declared)
    findings += duration_fault(("sla",), declared.sla) if declared.sla is not None else ()
    for index, step in enumerate(declared.steps):
        findings += ((("steps", index, *path), code, message) for path, code, message in _step(step, verbs, scope))
    edges = _edges(declared)
    ordered, cycles = order(results, edges)
    findings += _cycle_findings(declared, cycles)
    used = {name: verb for name, verb in known.items() if isinstance(verb, Verb)}
    if any(code != WARNING for _, code, _ in findings) or trigger is None or len(used) < len(known):
        return None, findings
    return _definition(declared, trigger, ordered, edges, used), findings


def _trigger_schema(declared: RunbookFile, findings: list[Finding]) -> Schema | None:
    """Return the schema of the trigger's payload, or None after adding to `findings` what is wrong with it."""
    definitions = {name: normalise(schema) for name, schema in declared.definitions.items()}
    schema = normalise(declared.trigger.schema_)
    faults: list[Finding] = [
        (("definitions", *path), "schema", message) for path, message in definition_faults(definitions)
    ]
    faults += (
        (("trigger", "schema", *path), "schema", message) for path, message in object_faults(schema, definitions)
    )
    findings += faults
    return None if faults else bundle(schema, definitions)


def _duplicate_steps(declared: RunbookFile) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for index, step in enumerate(declared.steps):
        if first.setdefault(step.id, index) != index:
            yield ("steps", index, "id"), "duplicate", f"the step '{step.id}' stands twice"


def _retain_findings(declared: RunbookFile) -> Iterator[Finding]:
    try:
        _retain_days(declared)
    except ValueError as error:
        yield ("evidence", "retain"), "duration", str(error)


def _retain_days(declared: RunbookFile) -> int | None:
    return parse_days(declared.evidence.retain) if declared.evidence else None


def _step(step: StepShape, verbs: Verbs, scope: Scope) -> Iterator[Finding]:
    if step.verb not in verbs:
        yield ("verb",), "unknown_verb", f"unknown verb '{step.verb}'{hint(step.verb, verbs)}"
    verb = verbs.get(step.verb)
    static, schema = (verb.static_params, verb.input_schema) if verb else ({}, {})
    for fault in check_params(step.params, static, schema, scope):
        yield ("params", *fault.path), fault.code, fault.message
    redacted = [pointer_path(pointer) for pointer in verb.redact] if isinstance(verb, Verb) else []
    for fault in redacted_literals(redacted, step.params):
        yield ("params", *fault.path), fault.code, fault.message
    for fault in check_condition(step.when, scope) if step.when else ():
        yield ("when",), fault.code, fault.message
    for index, need in enumerate(step.needs):
        if need not in (scope.steps or {}):
            message = f"unknown step '{need}'{hint(need, scope.steps or {})}"
            yield ("needs", index), "dangling_reference", message


def _edges(declared: RunbookFile) -> tuple[Edge, ...]:
    ids = {step.id for step in declared.steps}
    data = {step.id: (steps_in(step.params) | steps_in_condition(step.when)) & ids for step in declared.steps}
    return edges_between(data, {step.id: ids.intersection(step.needs) for step in declared.steps})


def _cycle_findings(declared: RunbookFile, cycles: list[list[str]]) -> Iterator[Finding]:
    places = {step.id: index for index, step in enumerate(declared.steps)}
    for cycle in cycles:
        yield ("steps", places[cycle[0]]), "cycle", f"the steps wait for each other: {' → '.join(cycle)}"


def _definition(
    declared: RunbookFile,
    trigger: Schema,
    ordered: list[str],
    edges: tuple[Edge, ...],
    verbs: Mapping[str, Verb],
) -> Definition:
    """Return the definition as its own canonical bytes give it, so that what runs is what is stored."""
    shapes = {step.id: step for step in declared.steps}
    steps = {id_: StepDefinition(id_, shapes[id_].verb, shapes[id_].params, shapes[id_].when) for id_ in ordered}
    draft = Definition(
        name=declared.name,
        version=declared.version,
        title=declared.title,
        trigger_type=declared.trigger.type,
        trigger_schema=trigger,
        steps=steps,
        edges=edges,
        verbs=verbs,
        canonical=b"",
        digest="",
        description=declared.description,
        retain_days=_retain_days(declared),
        sla=parse_duration(declared.sla) if declared.sla else None,
    )
    return from_canonical(dumps(definition_document(draft)))
