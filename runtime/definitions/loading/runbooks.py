"""Runbook files: the canonical definition where nothing is wrong, and every problem where something is.

That covers what a trigger is about and which of its type the runbook takes, the ``response``, and the runbooks that
escalations start: each is there, and takes what it is started with.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.canonical import dumps
from runtime.definitions.canonical import definition_document, from_canonical
from runtime.definitions.durations import parse_days, parse_duration
from runtime.definitions.loading.conditions import WARNING, check_condition
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
from runtime.definitions.loading.params import check_params, check_text, functions_called, functions_in
from runtime.definitions.loading.schema_faults import definition_faults, object_faults
from runtime.definitions.loading.shapes import RunbookFile, read_shape
from runtime.definitions.loading.step_tree import Placed, Tree, placed_steps
from runtime.definitions.loading.timing import duration_fault
from runtime.definitions.loading.verb_rules import RUN
from runtime.definitions.loading.verbs import LoadedVerb
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import About, Definition, Edge, Verb
from runtime.definitions.nodes import ResponseSpec
from runtime.definitions.problems import Finding, Path, Problem, hint, show_path
from runtime.definitions.schemas import Schema, bundle, normalise
from runtime.definitions.scope import TEXT, Scope


def subject_findings(
    about: str | None, signal: str | None, trigger: Schema | None, waited_for: Collection[str]
) -> Iterator[Finding]:
    """Yield what is wrong with `about` and `signal`; the text sees the trigger alone, since no run has begun then."""
    if (about is None) != (signal is None):
        missing = "about" if about is None else "signal"
        yield ("trigger",), "missing_key", f"the key '{missing}' is missing: 'about' and 'signal' go together"
    for fault in check_text(about, Scope({"trigger": trigger})) if about is not None else ():
        yield ("trigger", "about", *fault.path), fault.code, fault.message
    for name in functions_in(about):
        yield ("trigger", "about"), "rule", f"'{name}' is a function of a pack: these stand in steps and output alone"
    if signal is not None and signal not in waited_for:
        message = f"no step waits for the signal '{signal}'{hint(signal, waited_for)}"
        yield ("trigger", "signal"), "dangling_reference", message


def when_findings(when: str | None, trigger: Schema | None) -> Iterator[Finding]:
    """Yield what is wrong with `when`, which sees the trigger alone, too."""
    for fault in check_condition(when, Scope({"trigger": trigger})) if when is not None else ():
        yield ("trigger", "when", *fault.path), fault.code, fault.message
    for name in functions_in(f"${{{when}}}") if when is not None else ():
        yield ("trigger", "when"), "rule", f"'{name}' is a function of a pack: these stand in steps and output alone"


def response_findings(response: ResponseSpec | None, scope: Scope, outcomes: Collection[str]) -> Iterator[Finding]:
    """Yield what is wrong with it; `scope` is that of the whole run, `outcomes` the words with which it may end."""
    if response is None:
        return
    for path, text in _texts(response):
        yield from ((path, fault.code, fault.message) for fault in check_text(text, scope))
        for name in functions_in(text):
            yield path, "rule", f"'{name}' is a function of a pack; a response is made of CEL's own"
    for name in response.outcomes:
        if name not in outcomes:
            message = f"no step ends a run with the outcome '{name}'{hint(name, outcomes)}"
            yield ("response", "outcomes", name), "dangling_reference", message


def _texts(response: ResponseSpec) -> Iterator[tuple[Path, str]]:
    for name in ("succeeded", "failed", "canceled"):
        if (text := getattr(response, name)) is not None:
            yield ("response", name), text
    yield from ((("response", "outcomes", name), text) for name, text in response.outcomes.items())


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
    declared, misshapen = read_shape(RunbookFile, source)
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
    for one in placed_steps(declared.steps):
        said = one.shape.escalation if one.shape else None
        for entry in [said] if isinstance(said, EscalationShape) else said or ():
            if entry.start:
                yield (*one.path, "escalation"), entry.start


def _name(value: Any) -> str:
    return str(value.get("name", "")) if isinstance(value, Mapping) else ""


def _build(declared: RunbookFile, verbs: Verbs) -> tuple[Definition | None, list[Finding]]:
    findings: list[Finding] = []
    trigger = _trigger_schema(declared, findings)
    steps = list(placed_steps(declared.steps))
    findings += duplicates(steps)
    tree = Tree.of(steps)
    scopes = Scopes(tree, verbs, {"trigger": trigger, "run": RUN, "state": _state_schema(declared, findings)})
    findings += when_findings(declared.trigger.when, trigger)
    findings += subject_findings(declared.trigger.about, declared.trigger.signal, trigger, _signals(steps))
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


GIVEN = ("run", "step", "reference", "what")
"""What the payload of such a run holds, as texts: who waits, and for what."""


def wrong_starts(verbs: Iterable[LoadedVerb], runbooks: Sequence[LoadedRunbook]) -> Iterator[Problem]:
    """Yield what is wrong with the runbooks that are started; one that has problems of its own is not repeated."""
    newest = {runbook.name: runbook for runbook in sorted(runbooks, key=lambda each: each.version)}
    for loaded in verbs:
        for entry in loaded.verb.escalation if loaded.verb else ():
            for message in _faults(entry.start, newest) if entry.start else ():
                yield loaded.source.problem((*loaded.path, "execution", "escalation"), "start", message)
    for runbook in newest.values():
        for path, name in runbook.starts:
            for message in _faults(name, newest):
                yield runbook.source.problem(path, "start", message)


def _faults(name: str, newest: dict[str, LoadedRunbook]) -> Iterator[str]:
    if name not in newest:
        yield f"unknown runbook '{name}'{hint(name, newest)}"
        return
    definition, given = newest[name].definition, {key: f"${{{key}}}" for key in GIVEN}
    scope = Scope(dict.fromkeys(GIVEN, TEXT))
    for fault in check_params(given, {}, definition.trigger_schema, scope) if definition else ():
        place = f"{show_path(fault.path)}: " if fault.path else ""
        yield f"'{name}' does not take what it is started with: {place}{fault.message}"
