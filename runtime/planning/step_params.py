"""Params of a step, resolved and checked against its verb's schema."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import isodate

from receipts.privacy import Privacy
from receipts.redaction import hidden_values
from runtime.definitions.cel.expressions import render
from runtime.definitions.durations import parse_duration
from runtime.definitions.model import Verb
from runtime.definitions.schemas import violations
from runtime.model.limits import json_fault
from runtime.model.steps import ParamsError

Json = Any

NAMED_PROBLEMS = 8
"""As many places of a value that does not fit are named as one can read; the rest is counted."""
PARAMS_DEPTH = 80
"""Levels of params: records wrap them in a few more, and canonical JSON ends at a hundred."""


def resolve_params(verb: Verb, params: Mapping[str, Json], context: Mapping[str, Json]) -> dict[str, Json]:
    """Return the params of a step: schema defaults under the verb's static params under the step's own."""
    properties = verb.input_schema.get("properties", {})
    defaults = {name: spec["default"] for name, spec in properties.items() if "default" in spec}
    resolved = {**defaults, **verb.static_params, **{name: render(value, context) for name, value in params.items()}}
    if wrong := json_fault(resolved, PARAMS_DEPTH):
        raise ParamsError(f"params of {verb.name}: {wrong}")
    try:
        fits(verb.input_schema, resolved, f"params of {verb.name}")
    except ParamsError as error:  # it quotes what does not fit
        raise ParamsError(Privacy().hiding(*hidden_values(resolved, verb.redact)).text(str(error))) from None
    return resolved


def expect_kept(value: Json, what: str) -> None:
    """Raise ParamsError where a value, of whatever type, cannot be put on record."""
    if wrong := json_fault({what: value}, PARAMS_DEPTH):
        raise ParamsError(f"{what}: {wrong}")


def duration_of(value: Json) -> str:
    """Return what says how long to wait, as it was said; raise ParamsError where it is no duration."""
    try:
        parse_duration(str(value))
    except ValueError as error:
        raise ParamsError(str(error)) from error
    return str(value)


def moment_of(text: str) -> str:
    """Return the text, if it is a moment that a deadline can be (one that UTC has, too); else raise ParamsError."""
    try:
        moment = isodate.parse_datetime(text)
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            moment.astimezone(UTC)
            return text
    except (ValueError, OverflowError) as error:
        raise ParamsError(f"{text!r} is no time such as 2027-01-31T12:00:00Z") from error
    raise ParamsError(f"{text!r} does not say in which time zone")


def fits(schema: Mapping[str, Any], value: Json, what: str) -> None:
    """Raise ParamsError naming the places where `value` does not fit `schema`."""
    found = [f"/{'/'.join(map(str, path))}: {message}" for path, _, message in violations(schema, value)]
    if found:
        more = f"; and {len(found) - NAMED_PROBLEMS} more" if len(found) > NAMED_PROBLEMS else ""
        raise ParamsError(f"{what}: {'; '.join(found[:NAMED_PROBLEMS])}{more}")
