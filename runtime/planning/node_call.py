"""`call`: a verb. What passes the gate is proposed, any other read is left to a worker, a timer is set."""

from collections.abc import Mapping
from dataclasses import replace

from receipts.canonical import digest
from receipts.privacy import redact_everywhere
from runtime.definitions.cel.expressions import render_text
from runtime.definitions.model import Kind, Verb
from runtime.model.errors import ParamsError
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.model.undo import UNDO, UNDO_KEY
from runtime.planning.context import Context, run_facts
from runtime.planning.params import duration_of, moment_of, resolve_params
from runtime.planning.plan_builder import Planning
from runtime.planning.values import Json, Proposal, Read, Timer

KEY_LIMIT = 512
"""Characters of a target or key: more than any name needs, less than an index of the database can hold."""


def start(planning: Planning, path: str, context: Context) -> None:
    """Propose what the verb does."""
    verb, transition = planning.definition.verb_of(path), planning.transition
    params = resolve_params(verb, planning.definition.node(path).params, context)
    if verb.wait_type == "timer":
        transition.timers.append(Timer(path, duration_of(params.get("duration"))))
        planning.move(path, StepState(StepStatus.PARKED))
        return
    if verb.passes_gate:
        until = planning.definition.node(path).until
        ends = moment_of(render_text(until, context)) if until else ""
        transition.proposals.append(replace(_proposal(planning, path, verb, params), until=ends))
    else:
        transition.reads.append(Read(path, verb, params))
    planning.move(path, StepState(StepStatus.READY))


def _proposal(planning: Planning, path: str, verb: Verb, params: Mapping[str, Json]) -> Proposal:
    context: Context = {
        "params": params,
        "tenant": planning.snapshot.tenant,
        "run": run_facts(planning),
        "step": path,
    }
    if "fields_hash" in verb.target or "fields_hash" in verb.idempotency_key:  # a key must not confirm a guess
        context["fields_hash"] = digest(redact_everywhere(params, verb.redact).value)
    proposal = Proposal(
        path=path,
        verb=verb,
        params=params,
        target=render_text(verb.target, context),
        idempotency_key=render_text(verb.idempotency_key, context),
        correlation_key=_correlation_key(planning, path, verb, params),
    )
    for name in ("target", "idempotency_key", "correlation_key"):
        if len(getattr(proposal, name)) > KEY_LIMIT:
            raise ParamsError(f"{name} of {verb.name} is longer than {KEY_LIMIT} characters")
    if proposal.idempotency_key.startswith(UNDO_KEY) and planning.definition.trigger_type != UNDO:
        raise ParamsError(f"idempotency_key of {verb.name} begins with {UNDO_KEY!r}: such keys are the program's own")
    return proposal


def _correlation_key(planning: Planning, path: str, verb: Verb, params: Mapping[str, Json]) -> str:
    if verb.kind is Kind.SYNC:
        return ""
    if verb.correlation_field is None:
        return f"{planning.snapshot.run_id}:{path}"
    return f"{planning.snapshot.tenant}:{verb.name}:{params[verb.correlation_field]}"
