"""What must hold for each kind of node beyond the shape of its declaration."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from runtime.definitions.cel.expressions import is_dynamic
from runtime.definitions.durations import format_duration, parse_duration
from runtime.definitions.loading.card_checks import step_card_findings
from runtime.definitions.loading.conditions import check_condition
from runtime.definitions.loading.node_shapes import DOES, MAY_BRANCH, RepeatShape, RunShape, StepShape, SwitchShape
from runtime.definitions.loading.params import Fault, check_params, check_text, redacted_literals
from runtime.definitions.loading.schema_faults import object_faults
from runtime.definitions.loading.timing import check_time, waiting_rules
from runtime.definitions.loading.verb_rules import pointer_path
from runtime.definitions.loading.verbs import Interface
from runtime.definitions.model import Kind, Verb
from runtime.definitions.nodes import EndSpec, WaitSpec
from runtime.definitions.problems import Finding, Path, hint
from runtime.definitions.schemas import normalise
from runtime.definitions.scope import Scope
from runtime.model.states import WaitType

Verbs = Mapping[str, Verb | Interface | None]

UNTIL_WAITS = (WaitType.EXTERNAL, WaitType.HUMAN_TASK)
"""What a call waits for that may end at a moment."""


def does(shape: StepShape) -> tuple[str, ...]:
    """Return what a step says that it does."""
    return tuple(key for key in DOES if getattr(shape, key) is not None)


def node_findings(shape: StepShape, verbs: Verbs, scope: Scope, inner: Scope) -> Iterator[Finding]:
    """Yield what is wrong with a step in itself; `inner` is the scope of what it says about the steps inside it."""
    kinds = does(shape)
    if len(kinds) != 1:
        yield from _one_of(kinds)
        return
    yield from _of_calls_alone(shape, kinds[0])
    yield from _at(("when",), check_condition(shape.when, scope) if shape.when else ())
    if kinds[0] == "verb":
        yield from _call(shape, verbs, scope)
    elif shape.repeat is not None:
        yield from _repeat(shape.repeat, scope, inner)
    else:
        yield from _CHECKS[kinds[0]](getattr(shape, kinds[0]), scope)


def _one_of(kinds: tuple[str, ...]) -> Iterator[Finding]:
    if kinds:
        yield (kinds[1],), "rule", f"a step does one thing, not {' and '.join(kinds)}"
    else:
        yield (), "missing_key", "the key 'verb' is missing"


def _of_calls_alone(shape: StepShape, kind: str) -> Iterator[Finding]:
    for key in ("params", "result_key", "timeout", "until", "retry", "escalation", "remind", "card"):
        if kind != "verb" and key in shape.model_fields_set:
            yield (key,), "rule", f"'{key}' goes with 'verb'"
    if shape.on is not None and kind not in MAY_BRANCH:
        yield ("on",), "rule", f"'on' goes with {', '.join(MAY_BRANCH)}"
    if shape.on_error is not None and kind not in MAY_BRANCH:
        yield ("on_error",), "rule", f"'on_error' goes with {', '.join(MAY_BRANCH)}"
    if shape.on is not None and not shape.on.blocks():
        yield ("on",), "shape", "may not be empty"


def _call(shape: StepShape, verbs: Verbs, scope: Scope) -> Iterator[Finding]:
    name = shape.verb or ""
    if name not in verbs:
        yield ("verb",), "unknown_verb", f"unknown verb '{name}'{hint(name, verbs)}"
    verb = verbs.get(name)
    static, schema = (verb.static_params, verb.input_schema) if verb else ({}, {})
    yield from _at(("params",), check_params(shape.params, static, schema, scope))
    duration = shape.params.get("duration")
    if (
        isinstance(verb, Verb)
        and verb.wait_type == WaitType.TIMER
        and isinstance(duration, str)
        and is_dynamic(duration)
    ):
        yield from _at(("params", "duration"), check_time(duration, "duration", scope))
    yield from _patience(shape, verb if isinstance(verb, Verb) else None)
    yield from _at(("until",), check_time(shape.until, "date-time", scope) if shape.until else ())
    redacted = [pointer_path(pointer) for pointer in verb.redact] if isinstance(verb, Verb) else []
    yield from _at(("params",), redacted_literals(redacted, shape.params))
    if shape.card is not None and isinstance(verb, Verb):
        yield from step_card_findings(shape.card, verb, scope)


def _patience(shape: StepShape, verb: Verb | None) -> Iterator[Finding]:
    """Yield what is wrong with how a call waits; a verb that is not sound has problems of its own."""
    timeout = shape.timeout or (format_duration(verb.timeout) if verb and shape.until is None else None)
    yield from waiting_rules(shape, timeout)
    if shape.until is not None and shape.timeout is not None:
        yield ("until",), "rule", "'until' says another time what 'timeout' says: when the wait ends"
    if verb and shape.until is not None and verb.wait_type not in UNTIL_WAITS:
        yield ("until",), "rule", "'until' is for durable verbs, and a timer is a step with 'wait: { until: … }'"
    if verb and verb.kind is not Kind.DURABLE and shape.escalation is not None:
        yield ("escalation",), "rule", "'escalation' is for durable verbs"
    if verb and verb.wait_type != WaitType.HUMAN_TASK and shape.remind is not None:
        yield ("remind",), "rule", "'remind' is for verbs that wait for a 'human_task', which people answer"


def _set(values: dict[str, Any], scope: Scope) -> Iterator[Finding]:
    yield from _at(("set",), check_params(values, {}, {}, scope))


def _reference(text: str, scope: Scope) -> Iterator[Finding]:
    yield from _at(("reference",), check_text(text, scope))


def _switch(switch: SwitchShape, scope: Scope) -> Iterator[Finding]:
    for index, one in enumerate(switch.cases):
        yield from _at(("switch", "cases", index, "when"), check_condition(one.when, scope))


def _repeat(repeat: RepeatShape, scope: Scope, inner: Scope) -> Iterator[Finding]:
    if repeat.for_each is not None:
        if not is_dynamic(repeat.for_each):
            yield ("repeat", "for_each"), "type_mismatch", "expected a list, as in ${steps.find.result.items}"
        wanted = {"properties": {"for_each": {"type": "array"}}}
        yield from _at(("repeat",), check_params({"for_each": repeat.for_each}, {}, wanted, scope))
    if repeat.while_ is not None:
        indexed = replace(scope, roots={**scope.roots, "index": {"type": "integer"}})
        yield from _at(("repeat", "while"), check_condition(repeat.while_, indexed))
    if repeat.until is not None:
        yield from _at(("repeat", "until"), check_condition(repeat.until, inner))
    if repeat.collect is not None:
        yield from _at(("repeat",), check_params({"collect": repeat.collect}, {}, {}, inner))


def _run(run: RunShape, scope: Scope) -> Iterator[Finding]:
    yield from _at(("run", "trigger"), check_params(run.trigger, {}, {}, scope))
    if (run.timeout is None) == (run.until is None):
        yield ("run",), "missing_key", "'run' needs 'timeout' or 'until', and not both: how long the run may take"
    yield from _duration(("run", "timeout"), run.timeout)
    yield from _at(("run", "until"), check_time(run.until, "date-time", scope) if run.until else ())


def _continue_with(run: RunShape, scope: Scope) -> Iterator[Finding]:
    yield from _at(("continue_with", "trigger"), check_params(run.trigger, {}, {}, scope))
    for key in ("timeout", "until"):
        if getattr(run, key) is not None:
            yield ("continue_with", key), "rule", f"'{key}' goes with 'run', which waits"


def _wait(wait: WaitSpec, scope: Scope) -> Iterator[Finding]:
    for key, text in (("for", wait.for_), ("timeout", wait.timeout)):
        if text is not None and is_dynamic(text):
            yield from _at(("wait", key), check_time(text, "duration", scope))
        else:
            yield from _duration(("wait", key), text)
    if wait.until is not None:
        yield from _at(("wait", "until"), check_time(wait.until, "date-time", scope))
    for path, message in object_faults(normalise(wait.schema_), {}) if wait.schema_ is not None else ():
        yield ("wait", "schema", *path), "schema", message


def _end(end: EndSpec, scope: Scope) -> Iterator[Finding]:
    if end.result is not None:
        yield from _at(("end",), check_params({"result": end.result}, {}, {}, scope))


_CHECKS: Mapping[str, Callable[[Any, Scope], Iterator[Finding]]] = {
    "set": _set,
    "reference": _reference,
    "switch": _switch,
    "run": _run,
    "continue_with": _continue_with,
    "wait": _wait,
    "end": _end,
}


def _duration(path: Path, text: str | None) -> Iterator[Finding]:
    try:
        parse_duration(text or "PT1S")
    except ValueError as error:
        yield path, "duration", str(error)


def _at(path: Path, faults: Iterable[Fault]) -> Iterator[Finding]:
    for fault in faults:
        yield (*path, *fault.path), fault.code, fault.message
