"""What each kind of node does when it starts: call, switch, wait, set, reference, end (`node_repeat` has its own file).

- `call`: a verb. What passes the gate is proposed, any other read is left to a worker, a timer is set.
- `switch`: cases in order, exactly one path.
- `wait`: for a time to pass or to come, or for a signal.
- `set` and `reference`: the run's business state, and the reference by which people know it.
- `end`: the run is over, with a word and a result, whatever else is open, unless it failed at that moment.
"""

from collections.abc import Mapping
from dataclasses import replace

from receipts.canonical import digest
from receipts.privacy import redact_everywhere
from runtime.definitions.cel.expressions import compile_expression, evaluate_condition, render, render_text
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import Kind, Verb
from runtime.definitions.nodes import OTHERWISE, EndSpec, ReferenceSpec, SetSpec, SwitchSpec, WaitSpec, case
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.model.steps import ParamsError
from runtime.model.undo import UNDO, UNDO_KEY
from runtime.planning.expression_context import Context, run_facts
from runtime.planning.plan_builder import Planning
from runtime.planning.step_params import duration_of, expect_kept, moment_of, resolve_params
from runtime.planning.transition import Ended, Json, Proposal, Read, SignalWait, Timer

KEY_LIMIT = 512
"""Characters of a target or key: more than any name needs, less than an index of the database can hold."""


def start_call(planning: Planning, path: str, context: Context) -> None:
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


def start_switch(planning: Planning, path: str, context: Context) -> None:
    """Take the first case that holds, or `else`; raise ExpressionError with the values where there is neither."""
    spec = planning.definition.spec(path, SwitchSpec)
    holding = (number for number, when in enumerate(spec.cases, 1) if evaluate_condition(when, context))
    number = next(holding, None)
    if number is None and not spec.otherwise:
        raise ExpressionError(f"no case holds, and there is no else: {_seen_values(spec, context)}")
    branch = OTHERWISE if number is None else case(number)
    if not planning.definition.block(path, branch):
        planning.move(path, StepState(StepStatus.SUCCEEDED, {"branch": branch}))
        return
    planning.move(path, StepState(StepStatus.PARKED, kept={"branch": branch}))
    planning.enter(path, branch)


def close_switch(planning: Planning, path: str) -> None:
    """End with the steps of the case."""
    planning.move(path, StepState(StepStatus.SUCCEEDED, planning.look(path).kept))


def _seen_values(spec: SwitchSpec, context: Context) -> str:
    """Return what the cases looked at, as far as one can read it."""
    read = dict.fromkeys(reference for when in spec.cases for reference in compile_expression(when).references)
    return ", ".join(
        f"{reference} is {_value_at(context.get(reference.root), reference.path)!r}"[:120] for reference in read
    )


def _value_at(value: Json, path: tuple[str | int, ...]) -> Json:
    for part in path:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return None
    return value


def start_wait(planning: Planning, path: str, context: Context) -> None:
    """Park the step until then."""
    spec = planning.definition.spec(path, WaitSpec)
    if spec.signal is not None:
        planning.transition.signals.append(SignalWait(path, spec.signal, **_wait_ends(spec, context)))
    else:
        planning.transition.timers.append(Timer(path, **_wait_ends(spec, context)))
    planning.move(path, StepState(StepStatus.PARKED))


def _wait_ends(spec: WaitSpec, context: Context) -> dict[str, str]:
    """Return when the wait is over: after a `duration`, or at the moment `until`."""
    if spec.until is not None:
        return {"until": moment_of(render_text(spec.until, context))}
    return {"duration": duration_of(render_text(spec.for_ or spec.timeout or "", context))}


REFERENCE_LIMIT = 256
"""Characters of a business reference."""


def start_set(planning: Planning, path: str, context: Context) -> None:
    """Give keys of the state their values; all see the state as it was before."""
    spec = planning.definition.spec(path, SetSpec)
    values = {name: render(value, context) for name, value in spec.values.items()}
    planning.assign(values)
    planning.move(path, StepState(StepStatus.SUCCEEDED, values))


def start_reference(planning: Planning, path: str, context: Context) -> None:
    """Say by what the run is found from now on."""
    spec = planning.definition.spec(path, ReferenceSpec)
    reference = render_text(spec.reference, context)
    if not 0 < len(reference) <= REFERENCE_LIMIT:
        raise ParamsError(f"a reference has 1 to {REFERENCE_LIMIT} characters, not {len(reference)}")
    planning.reference = planning.transition.reference = reference
    planning.move(path, StepState(StepStatus.SUCCEEDED, {"reference": reference}))


def start_end(planning: Planning, path: str, context: Context) -> None:
    """End the run; the first of two ends that are reached at once counts, and a failure before either."""
    if planning.failed():
        return  # the run fails by that, and this step is canceled with the rest
    spec = planning.definition.spec(path, EndSpec)
    result = render(spec.result, context)
    expect_kept(result, "result")
    planning.move(path, StepState(StepStatus.SUCCEEDED, {"outcome": spec.outcome}))
    planning.transition.ended = planning.transition.ended or Ended(spec.outcome, result, spec.result is not None)
