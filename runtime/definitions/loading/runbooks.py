"""Runbook files: the canonical definition where nothing is wrong, and every problem where something is."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.durations import parse_days, parse_duration
from runtime.definitions.loading.about import about_findings, when_findings
from runtime.definitions.loading.conditions import WARNING
from runtime.definitions.loading.functions import functions_called
from runtime.definitions.loading.node_checks import Verbs
from runtime.definitions.loading.node_shapes import EscalationShape
from runtime.definitions.loading.node_steps import (
    Scopes,
    cycle_findings,
    duplicates,
    node_of,
    state_findings,
    step_findings,
    verbs_of,
)
from runtime.definitions.loading.params import check_params
from runtime.definitions.loading.responses import response_findings
from runtime.definitions.loading.schema_faults import definition_faults, object_faults
from runtime.definitions.loading.shapes import RunbookFile, shape
from runtime.definitions.loading.tree import Placed, Tree, placed
from runtime.definitions.loading.verb_rules import RUN
from runtime.definitions.loading.waiting import duration_fault
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import About, Definition, Edge, Verb
from runtime.definitions.problems import Finding, Path, Problem
from runtime.definitions.schemas import Schema, bundle, normalise


@dataclass(frozen=True)
class LoadedRunbook:
    """A runbook as a file declares it: `definition` is None where it, or a verb that it uses, has a problem.

    `starts` are the runbooks that escalations of its steps start, each with its place.
    """

    name: str
    version: int
    trigger_type: str
    source: Source
    definition: Definition | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    starts: tuple[tuple[Path, str], ...] = ()
    when: str | None = None


def load_runbook(source: Source, verbs: Verbs) -> LoadedRunbook:
    """Return the runbook of a file. A verb that is none has problems of its own, which are not repeated."""
    declared, misshapen = shape(RunbookFile, source)
    if declared is None:
        return LoadedRunbook(_name(source.value), 0, "", source, None, tuple(misshapen), ())
    definition, findings = _build(declared, verbs)
    found = tuple(source.problem(*finding) for finding in findings)
    problems = tuple(problem for problem in found if problem.code != WARNING)
    warnings = tuple(problem for problem in found if problem.code == WARNING)
    starts = tuple(_starts(declared))
    of = declared.name, declared.version, declared.trigger.type
    return LoadedRunbook(*of, source, definition, problems, warnings, starts, declared.trigger.when)


def _starts(declared: RunbookFile) -> Iterator[tuple[Path, str]]:
    for one in placed(declared.steps):
        said = one.shape.escalation if one.shape else None
        for entry in [said] if isinstance(said, EscalationShape) else said or ():
            if entry.start:
                yield (*one.path, "escalation"), entry.start


def _name(value: Any) -> str:
    return str(value.get("name", "")) if isinstance(value, Mapping) else ""


def _build(declared: RunbookFile, verbs: Verbs) -> tuple[Definition | None, list[Finding]]:
    findings: list[Finding] = []
    trigger = _trigger_schema(declared, findings)
    steps = list(placed(declared.steps))
    findings += duplicates(steps)
    tree = Tree.of(steps)
    scopes = Scopes(tree, verbs, {"trigger": trigger, "run": RUN, "state": _state_schema(declared, findings)})
    findings += when_findings(declared.trigger.when, trigger)
    findings += about_findings(declared.trigger.about, declared.trigger.signal, trigger, _signals(steps))
    findings += _retain_findings(declared)
    findings += duration_fault(("sla",), declared.sla) if declared.sla is not None else ()
    for one in steps:
        for path, code, message in step_findings(one, tree, scopes, verbs):
            findings.append(((*one.path, *path), code, message))
    findings += (
        (("output", *fault.path[1:]), fault.code, fault.message)
        for fault in check_params({"output": declared.output}, {}, {}, scopes.whole)
    )
    findings += response_findings(declared.response, scopes.whole, _outcomes(steps))
    edges = tree.edges()
    ordered, cycles = tree.order(edges)
    findings += cycle_findings(tree, cycles)
    findings += state_findings(tree, edges) if not cycles else ()
    known = {name: verbs.get(name) for name in verbs_of(steps)}
    used = _with_ways_back(known, verbs)
    if any(code != WARNING for _, code, _ in findings) or trigger is None or used is None:
        return None, findings
    return _definition(declared, trigger, [tree.steps[address] for address in ordered], edges, used), findings


def _signals(steps: Iterable[Placed]) -> set[str]:
    """Return the signals for which any of the steps waits."""
    waits = (one.shape.wait for one in steps if one.shape is not None)
    return {wait.signal for wait in waits if wait is not None and wait.signal is not None}


def _outcomes(steps: Iterable[Placed]) -> set[str]:
    """Return the words with which any of the steps ends a run."""
    ends = (one.shape.end for one in steps if one.shape is not None)
    return {end.outcome for end in ends if end is not None}


def _state_schema(declared: RunbookFile, findings: list[Finding]) -> Schema | None:
    """Return the schema of the business state, None where it may hold anything."""
    if declared.state is None:
        return None
    schema = normalise(declared.state)
    faults = list(object_faults(schema, {}))
    findings += ((("state", *path), "schema", message) for path, message in faults)
    return None if faults else bundle(schema, {})


def _with_ways_back(known: Verbs, verbs: Verbs) -> dict[str, Verb] | None:
    """Return the verbs with those that undo them, which are kept as they are now; None where one has a problem."""
    used: dict[str, Verb] = {}
    left = dict(known)
    while left:
        name, verb = left.popitem()
        if not isinstance(verb, Verb):
            return None
        used[name] = verb
        left |= {way.verb: verbs.get(way.verb) for way in verb.compensations if way.verb not in used}
    return used


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


def _retain_findings(declared: RunbookFile) -> Iterator[Finding]:
    try:
        _retain_days(declared)
    except ValueError as error:
        yield ("evidence", "retain"), "duration", str(error)


def _retain_days(declared: RunbookFile) -> int | None:
    return parse_days(declared.evidence.retain) if declared.evidence else None


def _definition(
    declared: RunbookFile,
    trigger: Schema,
    ordered: list[Placed],
    edges: tuple[Edge, ...],
    verbs: Mapping[str, Verb],
) -> Definition:
    """Return the definition as its own canonical bytes give it, so that what runs is what is stored."""
    steps = {one.address: node_of(one, declared.on_error) for one in ordered}
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
        state=None if declared.state is None else bundle(normalise(declared.state), {}),
        output=declared.output,
        sla=parse_duration(declared.sla) if declared.sla else None,
        when=declared.trigger.when,
        about=_about(declared),
        functions=functions_called(steps.values(), declared.output),
        response=declared.response,
        questions_to=declared.questions_to or "",
    )
    return from_canonical(dumps(definition_document(draft)))


def _about(declared: RunbookFile) -> About | None:
    trigger = declared.trigger
    return About(trigger.about, trigger.signal) if trigger.about is not None and trigger.signal is not None else None
