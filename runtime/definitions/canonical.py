"""The canonical form of a definition: all that execution needs, in RFC 8785 JSON, readable without any YAML.

That includes when to retry, and who is asked next (escalation). A key that nobody gave is not in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from receipts.canonical import CanonicalError, digest, dumps, loads
from runtime.definitions.cards import card_document, read_card
from runtime.definitions.durations import format_duration, parse_days, parse_duration
from runtime.definitions.model import (
    About,
    Compensation,
    Definition,
    Edge,
    EdgeKind,
    EffectClass,
    Escalation,
    Kind,
    Retry,
    StepDefinition,
    Verb,
)
from runtime.definitions.nodes import (
    SPECS,
    NodeKind,
    OnError,
    read_response,
    read_spec,
    response_document,
    spec_document,
)
from runtime.definitions.problems import DefinitionError
from runtime.model.action import Tier
from runtime.model.effect import OnDoubt
from runtime.model.wait import Correlate, OnInvalid

LADDER, FACTOR = "ladder", "factor"
"""The `backoff` of what is not told by a word."""

WaitingDocument = Mapping[str, Any]


def retry_document(retry: Retry) -> dict[str, Any]:
    """Return when to try again, as a definition says it."""
    said: dict[str, Any] = {"max_attempts": retry.max_attempts, "backoff": retry.backoff}
    if retry.ladder:
        said["ladder"] = [format_duration(pause) for pause in retry.ladder]
    else:
        said |= {"base_delay": format_duration(retry.base_delay), "max_delay": format_duration(retry.max_delay)}
    if retry.factor is not None:
        said["factor"] = retry.factor
    if retry.jitter is not None:
        said["jitter"] = retry.jitter
    return said


def retry_of(document: WaitingDocument) -> Retry:
    """Return when to try again; raise LookupError, TypeError or ValueError where the document does not say it."""
    pauses = tuple(parse_duration(pause) for pause in document.get("ladder", ()))
    if (document["backoff"] == LADDER) != bool(pauses) or (document["backoff"] == FACTOR) != ("factor" in document):
        raise ValueError(f"a retry by {document['backoff']!r} does not say its pauses")
    return Retry(
        max_attempts=document["max_attempts"],
        backoff=document["backoff"],
        base_delay=pauses[0] if pauses else parse_duration(document["base_delay"]),
        max_delay=max(pauses) if pauses else parse_duration(document["max_delay"]),
        factor=document.get("factor"),
        ladder=pauses,
        jitter=document.get("jitter"),
    )


def escalation_document(entries: Sequence[Escalation]) -> list[dict[str, Any]] | None:
    """Return what happens as time runs short, None where nothing does."""
    return [_entry_document(entry) for entry in entries] or None


def escalation_of(document: Sequence[WaitingDocument] | None) -> tuple[Escalation, ...]:
    """Return what happens as time runs short."""
    return tuple(_escalation_entry(entry) for entry in document or ())


def _entry_document(entry: Escalation) -> dict[str, Any]:
    said: dict[str, Any] = {"after": format_duration(entry.after)}
    if entry.to:
        said["to"] = list(entry.to)
    if entry.extend is not None:
        said["extend"] = format_duration(entry.extend)
    if entry.start is not None:
        said["start"] = entry.start
    return said


def _escalation_entry(document: WaitingDocument) -> Escalation:
    return Escalation(
        after=parse_duration(document["after"]),
        to=tuple(document.get("to", ())),
        extend=parse_duration(document["extend"]) if "extend" in document else None,
        start=document.get("start"),
    )


FORMAT = "countersign/definition/1"

Document = Mapping[str, Any]


class CanonicalDefinitionError(DefinitionError):
    """Bytes are not a definition in canonical form."""


def from_canonical(data: bytes) -> Definition:
    """Return the definition that `data` says; what is not understood to the last member is refused."""
    try:
        document = loads(data)
        definition = _definition(document, data)
        same = dumps(definition_document(definition)) == data
    except (CanonicalError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CanonicalDefinitionError(f"not a canonical definition: {error}") from error
    if not same:
        raise CanonicalDefinitionError("not a canonical definition: it holds members that are not known")
    return definition


def definition_document(definition: Definition) -> dict[str, Any]:
    """Return the JSON of everything in `definition` but its own bytes and digest."""
    return {
        "format": FORMAT,
        "name": definition.name,
        "version": definition.version,
        "title": definition.title,
        "description": definition.description,
        "trigger": {
            "type": definition.trigger_type,
            "schema": definition.trigger_schema,
            **({"when": definition.when} if definition.when is not None else {}),
            **_about_document(definition),
        },
        "steps": [_step_document(step) for step in definition.steps.values()],
        "edges": [asdict(edge) for edge in definition.edges],
        "verbs": {name: _verb_document(verb) for name, verb in definition.verbs.items()},
        # only where it is given, as with `settles_within` below
        **({"evidence": {"retain": _retain(definition.retain_days)}} if definition.retain_days else {}),
        **({"state": definition.state} if definition.state is not None else {}),
        **({"output": definition.output} if definition.output is not None else {}),
        **({"sla": format_duration(definition.sla)} if definition.sla else {}),
        **({"functions": definition.functions} if definition.functions else {}),
        **({"response": response_document(definition.response)} if definition.response else {}),
        **({"questions_to": definition.questions_to} if definition.questions_to else {}),
    }


def _about_document(definition: Definition) -> dict[str, str]:
    """Return what a trigger is about, only where it is given."""
    return {"about": definition.about.reference, "signal": definition.about.signal} if definition.about else {}


def _step_document(step: StepDefinition) -> dict[str, Any]:
    if step.spec is None:
        said: dict[str, Any] = {"verb": step.verb, "params": step.params}
    else:
        said = {step.kind.value: spec_document(step.spec)}
    more = {
        "in": step.branch,
        "result_key": step.result_key,
        **_waiting_document(step),
        "on_error": OnError.NEEDS_ATTENTION.value if step.needs_attention else "",
        "card": card_document(step.card) if step.card else {},
    }
    return {"id": step.path, "when": step.when, **said, **{name: value for name, value in more.items() if value}}


def _waiting_document(step: StepDefinition) -> dict[str, Any]:
    """Return what a step says of how it waits in the place of its verb."""
    said = {
        "timeout": format_duration(step.timeout) if step.timeout else "",
        "until": step.until,
        "retry": retry_document(step.retry) if step.retry else {},
        "escalation": escalation_document(step.escalation),
        "remind": [format_duration(pause) for pause in step.remind],
    }
    return {name: value for name, value in said.items() if value}


def _step(document: Document) -> StepDefinition:
    kind = next((kind for kind in SPECS if kind.value in document), NodeKind.CALL)
    return StepDefinition(
        path=document["id"],
        verb="" if kind in SPECS else document["verb"],
        params={} if kind in SPECS else document["params"],
        when=document["when"],
        kind=kind,
        spec=read_spec(kind, document[kind.value]) if kind in SPECS else None,
        branch=document.get("in", ""),
        result_key=document.get("result_key", ""),
        timeout=parse_duration(document["timeout"]) if "timeout" in document else None,
        until=document.get("until", ""),
        retry=retry_of(document["retry"]) if "retry" in document else None,
        escalation=escalation_of(document.get("escalation")),
        remind=tuple(parse_duration(pause) for pause in document.get("remind", ())),
        needs_attention=OnError(document.get("on_error", OnError.FAIL)) is OnError.NEEDS_ATTENTION,
        card=read_card(document["card"]) if "card" in document else None,
    )


def _retain(days: int) -> str:
    return format_duration(timedelta(days=days))


def _verb_document(verb: Verb) -> dict[str, Any]:
    return {
        "name": verb.name,
        "domain": verb.domain,
        "description": verb.description,
        "execution": {
            "kind": verb.kind,
            "handler": verb.handler,
            "params": verb.static_params,
            "timeout": format_duration(verb.timeout),
            "retry": retry_document(verb.retry),
            "escalation": escalation_document(verb.escalation),
            **({"remind": [format_duration(pause) for pause in verb.remind]} if verb.remind else {}),
            "correlation_field": verb.correlation_field,
            "wait": verb.wait_type,
            **_answer_document(verb),
        },
        "effect": {
            "class": verb.effect_class,
            "tier": verb.tier,
            "reversible_by": verb.reversible_by,
            "target": verb.target,
            "idempotency_key": verb.idempotency_key,
            "in_doubt": verb.in_doubt,
            # only where it is given: what nobody says changes no digest
            **({"settles_within": format_duration(verb.settles_within)} if verb.settles_within else {}),
            **({"governed": True} if verb.governed else {}),
        },
        "input_schema": verb.input_schema,
        "output_schema": verb.output_schema,
        "redact": list(verb.redact),
        # only where they are given, like `settles_within`
        **({"compensate": asdict(verb.compensate)} if verb.compensate else {}),
        **({"on_cancel": asdict(verb.on_cancel)} if verb.on_cancel else {}),
        **({"card": card_document(verb.card)} if verb.card else {}),
        **({"editable": list(verb.editable)} if verb.editable else {}),
    }


def _answer_document(verb: Verb) -> dict[str, str]:
    """Return what differs from the rule for answers."""
    differs = {}
    if verb.correlate is not Correlate.BY_TOKEN:
        differs["correlate"] = verb.correlate.value
    if verb.on_invalid is not OnInvalid.REFUSE:
        differs["on_invalid"] = verb.on_invalid.value
    return differs


def _definition(document: Document, data: bytes) -> Definition:
    if document["format"] != FORMAT:
        raise ValueError(f"the format is {document['format']!r}, expected {FORMAT!r}")
    return Definition(
        name=document["name"],
        version=document["version"],
        title=document["title"],
        trigger_type=document["trigger"]["type"],
        trigger_schema=document["trigger"]["schema"],
        steps={step["id"]: _step(step) for step in document["steps"]},
        edges=tuple(Edge(edge["source"], edge["target"], EdgeKind(edge["kind"])) for edge in document["edges"]),
        verbs={name: _verb(verb) for name, verb in document["verbs"].items()},
        canonical=data,
        digest=digest(document),
        description=document["description"],
        retain_days=parse_days(document["evidence"]["retain"]) if "evidence" in document else None,
        state=document.get("state"),
        output=document.get("output"),
        sla=parse_duration(document["sla"]) if "sla" in document else None,
        when=document["trigger"].get("when"),
        about=_about(document["trigger"]),
        functions=document.get("functions", {}),
        response=read_response(document["response"]) if "response" in document else None,
        questions_to=document.get("questions_to", ""),
    )


def _about(trigger: Document) -> About | None:
    return About(trigger["about"], trigger["signal"]) if "about" in trigger else None


def _verb(document: Document) -> Verb:
    execution, effect = document["execution"], document["effect"]
    return Verb(
        name=document["name"],
        domain=document["domain"],
        description=document["description"],
        kind=Kind(execution["kind"]),
        handler=execution["handler"],
        static_params=execution["params"],
        input_schema=document["input_schema"],
        output_schema=document["output_schema"],
        timeout=parse_duration(execution["timeout"]),
        retry=retry_of(execution["retry"]),
        escalation=escalation_of(execution["escalation"]),
        effect_class=EffectClass(effect["class"]),
        tier=Tier(effect["tier"]),
        reversible_by=effect["reversible_by"],
        target=effect["target"],
        idempotency_key=effect["idempotency_key"],
        in_doubt=OnDoubt(effect["in_doubt"]),
        settles_within=parse_duration(effect["settles_within"]) if "settles_within" in effect else None,
        correlation_field=execution["correlation_field"],
        correlate=Correlate(execution.get("correlate", Correlate.BY_TOKEN)),
        on_invalid=OnInvalid(execution.get("on_invalid", OnInvalid.REFUSE)),
        wait_type=execution["wait"],
        redact=tuple(document["redact"]),
        compensate=_compensation(document, "compensate"),
        on_cancel=_compensation(document, "on_cancel"),
        card=read_card(document["card"]) if "card" in document else None,
        remind=tuple(parse_duration(pause) for pause in execution.get("remind", ())),
        editable=tuple(document.get("editable", ())),
        governed=effect.get("governed", False),
    )


def _compensation(verb: Document, key: str) -> Compensation | None:
    return Compensation(**verb[key]) if key in verb else None
