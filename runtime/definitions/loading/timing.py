"""Timing that authors write: retries, timeouts, escalations, reminders, and durations and moments in expressions.

What must hold beyond its shape, and what it comes to. A duration or a moment, literal or as an expression, is known to
be one when it is loaded.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Literal as OneOf

from jsonschema.exceptions import FormatError

from runtime.definitions.canonical import FACTOR, LADDER
from runtime.definitions.cel import syntax
from runtime.definitions.cel.cost import reference_of
from runtime.definitions.cel.expressions import Expression, compile_expression, compile_template
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.cel.tokens import Reference
from runtime.definitions.durations import LONGEST, format_duration, parse_duration
from runtime.definitions.loading.node_shapes import EscalationShape, RemindShape, RetryShape, WaitingShape
from runtime.definitions.loading.params import Fault, check_text
from runtime.definitions.model import Escalation, Retry
from runtime.definitions.problems import Finding, Path
from runtime.definitions.schemas import FORMATS, Json
from runtime.definitions.scope import Scope

_WAYS = ("backoff", "factor", "ladder")
_PAUSES = ("base_delay", "max_delay")
_ANY = "PT1S"
"""Stands for a pause whose key is missing, which is a problem of its own."""


def waiting_rules(said: WaitingShape, timeout: str | None) -> Iterator[Finding]:
    """Yield what is wrong with how something waits, which is over after `timeout` (None where that is not known)."""
    faults = list(duration_fault(("timeout",), timeout or _ANY))
    yield from faults
    yield from _within("retry", retry_rules(said.retry) if said.retry else ())
    if said.escalation and not faults:
        yield from _within("escalation", escalation_rules(said.escalation, timeout or format_duration(LONGEST)))
    yield from _within("remind", reminder_rules(said.remind) if said.remind else ())


def _within(key: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    for path, code, message in findings:
        yield (key, *path), code, message


def retry_rules(retry: RetryShape) -> Iterator[Finding]:
    """Yield what is wrong with a `retry`, at paths within it."""
    ways = [way for way in _WAYS if getattr(retry, way) is not None]
    if not ways:
        yield (), "missing_key", "the key 'backoff' is missing (or 'factor', or 'ladder')"
    for way in ways[1:]:
        yield (way,), "rule", f"'{way}' says another time what '{ways[0]}' says: how pauses grow"
    yield from _ladder_rules(retry, retry.ladder) if retry.ladder else _growing_rules(retry)


def _ladder_rules(retry: RetryShape, ladder: list[str]) -> Iterator[Finding]:
    for key in _PAUSES:
        if getattr(retry, key) is not None:
            yield (key,), "rule", f"'{key}' does not go with a ladder, which says every pause"
    if retry.max_attempts is not None and retry.max_attempts <= len(ladder):
        message = f"the ladder has {len(ladder)} pauses, so there are {len(ladder) + 1} attempts at least"
        yield ("max_attempts",), "rule", message
    for index, pause in enumerate(ladder):
        yield from duration_fault(("ladder", index), pause)


def _growing_rules(retry: RetryShape) -> Iterator[Finding]:
    for key in ("max_attempts", *_PAUSES):
        if getattr(retry, key) is None:
            yield (), "missing_key", f"the key '{key}' is missing"
    faults = [fault for key in _PAUSES for fault in duration_fault((key,), getattr(retry, key) or _ANY)]
    yield from faults
    shortest, longest = retry.base_delay or _ANY, retry.max_delay or _ANY
    if not faults and parse_duration(shortest) > parse_duration(longest):
        yield ("base_delay",), "duration", f"{shortest} is longer than max_delay {longest}"


def duration_fault(path: Path, text: str) -> Iterator[Finding]:
    """Yield what is wrong with a duration."""
    try:
        parse_duration(text)
    except ValueError as error:
        yield path, "duration", str(error)


def declared_retry(retry: RetryShape) -> Retry:
    """Return what a `retry` without faults says."""
    pauses = tuple(parse_duration(pause) for pause in retry.ladder or ())
    return Retry(
        max_attempts=retry.max_attempts or len(pauses) + 1,
        backoff=LADDER if pauses else retry.backoff or FACTOR,
        base_delay=pauses[0] if pauses else parse_duration(retry.base_delay or ""),
        max_delay=max(pauses) if pauses else parse_duration(retry.max_delay or ""),
        factor=retry.factor,
        ladder=pauses,
        jitter=retry.jitter,
    )


def escalation_rules(declared: EscalationShape | list[EscalationShape], timeout: str) -> Iterator[Finding]:
    """Yield what is wrong with an `escalation` under a sound `timeout`, at paths within it."""
    entries = [declared] if isinstance(declared, EscalationShape) else declared
    places: list[Path] = [()] if isinstance(declared, EscalationShape) else [(index,) for index in range(len(entries))]
    faults = [fault for entry, place in zip(entries, places, strict=True) for fault in _entry_faults(entry, place)]
    yield from faults or _order_faults(declared_escalation(declared), places, timeout)


def _entry_faults(entry: EscalationShape, place: Path) -> Iterator[Finding]:
    yield from duration_fault((*place, "after"), entry.after)
    yield from duration_fault((*place, "extend"), entry.extend) if entry.extend else ()
    if entry.to is None and entry.start is None:
        yield place, "missing_key", "the key 'to' is missing (or 'start')"


def _order_faults(entries: tuple[Escalation, ...], places: list[Path], timeout: str) -> Iterator[Finding]:
    """Yield the entries that come after the deadline, as those before have prolonged it, or after a later one."""
    until, said = parse_duration(timeout), f"timeout {timeout}"
    for entry, place in zip(entries, places, strict=True):
        if entry.after > until:
            yield (*place, "after"), "duration", f"{format_duration(entry.after)} is longer than {said}"
        if entry.extend:
            until += entry.extend
            said = f"the prolonged timeout {format_duration(until)}"
    for (earlier, _), (later, place) in pairwise(zip(entries, places, strict=True)):
        if later.after <= earlier.after:
            yield (*place, "after"), "rule", f"it is not later than the entry before: {format_duration(earlier.after)}"


def declared_escalation(declared: EscalationShape | list[EscalationShape] | None) -> tuple[Escalation, ...]:
    """Return what an `escalation` without faults says."""
    entries = [declared] if isinstance(declared, EscalationShape) else declared or []
    return tuple(
        Escalation(
            after=parse_duration(entry.after),
            to=tuple(entry.to or ()),
            extend=parse_duration(entry.extend) if entry.extend else None,
            start=entry.start,
        )
        for entry in entries
    )


def reminder_rules(declared: RemindShape | list[str]) -> Iterator[Finding]:
    """Yield what is wrong with a `remind`, at paths within it."""
    if isinstance(declared, RemindShape):
        faults = list(duration_fault(("first",), declared.first))
        yield from faults
        if not faults and _seconds(declared, declared.at_most) > LONGEST.total_seconds():
            yield ("at_most",), "duration", f"the pause before reminder {declared.at_most} is longer than a century"
    else:
        for index, pause in enumerate(declared):
            yield from duration_fault((index,), pause)


def declared_reminders(declared: RemindShape | list[str] | None) -> tuple[timedelta, ...]:
    """Return the pauses between reminders that a `remind` without faults says."""
    if isinstance(declared, RemindShape):
        return tuple(timedelta(seconds=_seconds(declared, nth)) for nth in range(1, declared.at_most + 1))
    return tuple(parse_duration(pause) for pause in declared or ())


def _seconds(declared: RemindShape, nth: int) -> float:
    """Return the pause before reminder number `nth` (from 1), in whole milliseconds."""
    return round(parse_duration(declared.first).total_seconds() * declared.factor ** (nth - 1), 3)


Format = OneOf["duration", "date-time"]

_NOUNS: dict[str, str] = {"duration": "a duration such as P14D", "date-time": "a moment such as 2027-01-31T12:00:00Z"}
_A_DAY = "2027-01-31"


def check_time(text: str, format_: Format, scope: Scope) -> list[Fault]:
    """Return what is wrong with a text that has to be a duration, or a moment, whatever its expressions give."""
    if faults := check_text(text, scope):
        return faults
    template = compile_template(text)
    if template.whole is not None:
        return list(_of_tree(syntax.parse(template.whole.source), template.whole, format_, scope))
    samples = [[part, part] if isinstance(part, str) else _samples(part, scope) for part in template.parts]
    texts = ["".join(parts) for parts in zip(*samples, strict=True)] if all(samples) else []
    if texts and all(_is(text, format_) for text in texts):
        return []
    return [_fault(text, format_, "; of the values in it, a number says its minimum and maximum")]


def _of_tree(tree: syntax.Tree, whole: Expression, format_: Format, scope: Scope) -> Iterator[Fault]:
    """Yield what keeps an expression from being one: of a choice, each of both."""
    match tree:
        case syntax.Choice(_, then, otherwise):
            yield from _of_tree(then, whole, format_, scope)
            yield from _of_tree(otherwise, whole, format_, scope)
        case syntax.Literal(str() as text):
            if not _is(text, format_):
                yield Fault((), "type_mismatch", f"'{text}' is not {_NOUNS[format_]}")
        case syntax.Call("string", (moment,)) if format_ == "date-time" and _is_moment(moment, scope):
            return
        case _:
            reference = reference_of(tree)
            if reference is None or not _is_declared(reference, format_, scope):
                said = f"; its schema does not say 'format: {format_}'" if reference else ""
                yield _fault(whole.source, format_, said)


def _is_moment(tree: syntax.Tree, scope: Scope) -> bool:
    """Tell whether a tree is a time stamp of CEL, and cannot fail to be one."""
    match tree:
        case syntax.Call("timestamp", (syntax.Literal(str() as text),)):
            return _is(text, "date-time")
        case syntax.Call("timestamp", (of,)):
            reference = reference_of(of)
            return reference is not None and _is_declared(reference, "date-time", scope)
        case syntax.Operation("+" | "-", left, syntax.Call("duration", (syntax.Literal(str() as text),))) if left:
            return _is_moment(left, scope) and _is_duration_of_cel(text)
    return False


def _is_duration_of_cel(text: str) -> bool:
    try:
        return bool(compile_expression(f"string(duration('{text}'))").evaluate({}))
    except ExpressionError:
        return False


def _is_declared(reference: Reference, format_: Format, scope: Scope) -> bool:
    schema = scope.schema_at(reference)
    if schema is None:
        return reference.root == "steps"  # a step or verb with a problem of its own
    if values := scope.values_at(reference):
        return all(_is(value, format_) for value in values)
    return schema.get("type") == "string" and schema.get("format") == format_


def _samples(expression: Expression, scope: Scope) -> list[str]:
    """Return two values of a reference between which all lie, as text; nothing where that is not known."""
    schema = (scope.schema_at(expression.only) if expression.only else None) or {}
    if schema.get("type") == "integer" and "minimum" in schema and "maximum" in schema:
        return [str(schema["minimum"]), str(schema["maximum"])]
    return [_A_DAY, _A_DAY] if (schema.get("type"), schema.get("format")) == ("string", "date") else []


def _is(value: Json, format_: Format) -> bool:
    try:
        FORMATS.check(value, format_)
    except FormatError:
        return False
    return isinstance(value, str)


def _fault(source: str, format_: Format, said: str) -> Fault:
    return Fault((), "type_mismatch", f"'{source}' is not sure to give {_NOUNS[format_]}{said}")
