"""Verb files: each verb in the catalog's terms where nothing is wrong with it, and every problem where something is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from runtime.definitions.durations import parse_duration
from runtime.definitions.loading.schema_faults import definition_faults, object_faults
from runtime.definitions.loading.shapes import (
    CompensationShape,
    EffectShape,
    ReversalShape,
    VerbFile,
    VerbShape,
    read_shape,
)
from runtime.definitions.loading.timing import declared_escalation, declared_reminders, declared_retry
from runtime.definitions.loading.verb_rules import DEFAULT_TIMEOUT, input_rules, verb_rules, verb_warnings
from runtime.definitions.loading.yaml_source import Source
from runtime.definitions.model import Compensation, EffectClass, Kind, Retry, Verb
from runtime.definitions.problems import Finding, Path, Problem
from runtime.definitions.schemas import bundle, normalise
from runtime.handlers import Handler
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.model.wait import Correlate, OnInvalid

READ_KEY = "read-${run.id}-${step}"
"""The idempotency key of a governed read: a run that has read has read, however often its worker is lost."""
_ONE_ATTEMPT = Retry(1, "fixed", timedelta(seconds=1), timedelta(seconds=1))


@dataclass(frozen=True)
class Interface:
    """What runbooks see of a verb: known as soon as its schemas are sound, whatever else is wrong with it."""

    static_params: Mapping[str, Any]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]


@dataclass(frozen=True)
class LoadedVerb:
    """A verb as a file declares it: `verb` is None where something is wrong with it.

    Runbooks that use it are checked against its `interface` all the same, so that its problem hides none of theirs.
    """

    name: str
    source: Source
    path: Path
    verb: Verb | None
    interface: Interface | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def load_verbs(source: Source, handlers: Mapping[str, Handler]) -> tuple[list[LoadedVerb], list[Problem]]:
    """Return the verbs of a file, and the problems that belong to none of them."""
    file, problems = read_shape(VerbFile, source)
    if file is None:
        return [], problems
    definitions = {name: normalise(schema) for name, schema in file.definitions.items()}
    faults = [(("definitions", *path), "schema", message) for path, message in definition_faults(definitions)]
    sound = None if faults else definitions
    verbs = [_load(source, ("verbs", index), sound, handlers) for index in range(len(file.verbs))]
    return verbs, [source.problem(*fault) for fault in faults]


def _load(
    source: Source, path: Path, definitions: Mapping[str, Any] | None, handlers: Mapping[str, Handler]
) -> LoadedVerb:
    raw = source.value[path[0]][path[1]]
    name = str(raw.get("name", "")) if isinstance(raw, Mapping) else ""
    declared, problems = read_shape(VerbShape, source, path)
    if declared is None:
        return LoadedVerb(name, source, path, None, None, tuple(problems), ())
    verb, interface, findings = _build(declared, definitions, handlers)
    found, warnings = (
        tuple(source.problem((*path, *place), code, message) for place, code, message in each)
        for each in (findings, verb_warnings(declared))
    )
    return LoadedVerb(name, source, path, verb, interface, found, warnings)


def _build(
    declared: VerbShape, definitions: Mapping[str, Any] | None, handlers: Mapping[str, Handler]
) -> tuple[Verb | None, Interface | None, list[Finding]]:
    """Return the verb or None, what of it is sound, and what its rules find. Wrong `definitions` leave nothing."""
    findings = list(verb_rules(declared, handlers))
    if definitions is None:
        return None, None, findings
    schemas = {"input_schema": normalise(declared.input_schema), "output_schema": normalise(declared.output_schema)}
    faults = list(_schema_findings(schemas, definitions))
    if faults:
        return None, None, findings + faults
    bundled = {key: bundle(schema, definitions) for key, schema in schemas.items()}
    findings += input_rules(declared, bundled["input_schema"])
    interface = Interface(declared.execution.params, bundled["input_schema"], bundled["output_schema"])
    return None if findings else _verb(declared, **bundled), interface, findings


def _schema_findings(schemas: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Finding]:
    for key, schema in schemas.items():
        for path, message in object_faults(schema, definitions):
            yield (key, *path), "schema", message


def _verb(declared: VerbShape, *, input_schema: Mapping[str, Any], output_schema: Mapping[str, Any]) -> Verb:
    execution, effect = declared.execution, declared.effect
    return Verb(
        name=declared.name,
        domain=declared.domain,
        description=declared.description,
        kind=Kind(execution.kind),
        handler=execution.handler,
        static_params=execution.params,
        input_schema=input_schema,
        output_schema=output_schema,
        timeout=parse_duration(execution.timeout or DEFAULT_TIMEOUT),
        retry=declared_retry(execution.retry) if execution.retry else _ONE_ATTEMPT,
        escalation=declared_escalation(execution.escalation),
        effect_class=EffectClass(effect.class_),
        tier=Tier(effect.tier or Tier.LOW),
        reversible_by=_reversible_by(effect),
        target=effect.target or "",
        idempotency_key=READ_KEY if effect.governed else effect.idempotency_key or "",
        in_doubt=OnDoubt.REPEAT if effect.governed else OnDoubt(effect.in_doubt or OnDoubt.RETRY),
        settles_within=parse_duration(effect.settles_within) if effect.settles_within else None,
        correlation_field=execution.correlation_field,
        correlate=Correlate(execution.correlate or Correlate.BY_TOKEN),
        on_invalid=OnInvalid(execution.on_invalid or OnInvalid.REFUSE),
        wait_type=execution.wait,
        redact=tuple(declared.redact),
        editable=tuple(declared.editable or ()),
        compensate=_compensation(declared.compensate),
        on_cancel=_compensation(declared.on_cancel),
        card=declared.card,
        remind=declared_reminders(execution.remind),
        governed=bool(effect.governed),
    )


def _compensation(declared: CompensationShape | None) -> Compensation | None:
    return Compensation(declared.verb, declared.params) if declared else None


def _reversible_by(effect: EffectShape) -> str | None:
    return effect.reversible.by if isinstance(effect.reversible, ReversalShape) else None
