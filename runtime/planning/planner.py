"""The pure planner: ``plan(definition, snapshot, event) -> Transition``.

It reads no clock, no database and no network. The shell loads a snapshot, asks, and commits the answer. A snapshot may
leave out steps that the event does not reach (`reach`): the plan is the one that all steps would give, or an error that
names the steps to load first. So what one event costs does not grow with the run.

The rules: a step starts when all that it needs has succeeded or was skipped. A step with a `when` starts if the
condition holds and is skipped if not; a step without one is skipped when something it needs was skipped. One step
that fails for good ends the run: what has not ended is canceled. A run succeeds if and only if every step has
succeeded or was skipped.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from receipts.canonical import digest
from receipts.errors import ReceiptsError
from receipts.privacy import Privacy, redact_everywhere
from receipts.redaction import hidden_values
from runtime.definitions.cel.expressions import ExpressionError, evaluate_condition, render, render_text
from runtime.definitions.checks.schemas import violations
from runtime.definitions.model import Definition, EffectClass, Kind, Verb
from runtime.model.errors import ParamsError
from runtime.model.json_limits import fault
from runtime.model.run import StepState
from runtime.model.states import RUN, STEP, RunStatus, StepStatus, check, check_run, is_final

Json = Any

DONE = frozenset({StepStatus.SUCCEEDED, StepStatus.SKIPPED})
"""What a step must have come to before those that need it may start."""
KEY_LIMIT = 512
"""Characters of a target or key: more than any name needs, less than an index of the database can hold."""
NAMED_PROBLEMS = 8
"""As many places of a value that does not fit are named as one can read; the rest is counted."""
PARAMS_DEPTH = 80
"""Levels of params: records wrap them in a few more, and canonical JSON ends at a hundred."""


@dataclass(frozen=True)
class Snapshot:
    """A run as it stands: everything that a plan may depend on.

    `steps` are in the definition's order; `others` says which of the statuses that have not ended occur among the steps
    that are left out.
    """

    run_id: str
    tenant: str
    status: RunStatus
    trigger: Mapping[str, Json]
    steps: Mapping[str, StepState]
    others: frozenset[StepStatus] = frozenset()


class NotLoadedError(LookupError):
    """The plan reaches steps that the snapshot leaves out: `paths`, or all where that is None."""

    def __init__(self, paths: frozenset[str] | None) -> None:
        super().__init__("every step" if paths is None else ", ".join(sorted(paths)))
        self.paths = paths


@dataclass(frozen=True)
class Started:
    """A worker took the queued run."""


@dataclass(frozen=True)
class StepMoved:
    """Something happened to one step: an attempt began, was deferred, parked, resumed, failed or succeeded."""

    path: str
    status: StepStatus
    result: Json = None
    error: str = ""


@dataclass(frozen=True)
class Canceled:
    """Somebody asked for the run to stop."""

    reason: str


Event = Started | StepMoved | Canceled


@dataclass(frozen=True)
class Proposal:
    """A side effect that a step wants: the action, and the key under which it may happen once."""

    path: str
    verb: Verb
    params: Mapping[str, Json]
    target: str
    idempotency_key: str
    correlation_key: str  # of the wait that a durable verb opens; "" for others


@dataclass(frozen=True)
class Read:
    """A read that a worker should do, with its resolved params."""

    path: str
    verb: Verb
    params: Mapping[str, Json]


@dataclass(frozen=True)
class Timer:
    """A step that waits for time to pass; `duration` is an ISO 8601 duration."""

    path: str
    duration: str


@dataclass
class Transition:
    """What is to be committed: the steps that changed, the run's new status, and what the steps want."""

    run: RunStatus
    steps: dict[str, StepState] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)


def plan(definition: Definition, snapshot: Snapshot, event: Event) -> Transition:
    """Return what follows from `event`; raise IllegalTransitionError if it cannot follow on `snapshot`.

    Raise NotLoadedError where that takes steps which the snapshot leaves out.
    """
    if is_final(RUN, snapshot.status):
        return Transition(snapshot.status)
    planning = _Planning(definition, snapshot)
    if isinstance(event, StepMoved):
        planning.move(event.path, StepState(event.status, event.result, event.error))
    if isinstance(event, Canceled):
        planning.cancel_rest(event.reason)
    else:
        planning.start_what_is_free(freed_by(definition, event))
        planning.halt_if_failed()
    status = RunStatus.CANCELED if isinstance(event, Canceled) else run_status(planning.present())
    check_run(snapshot.status, status)
    planning.transition.run = status
    return planning.transition


_WAITS_FIRST = (
    (StepStatus.FAILED_TERMINAL, RunStatus.FAILED_TERMINAL),
    (StepStatus.READY, RunStatus.RUNNING),
    (StepStatus.RUNNING, RunStatus.RUNNING),
    (StepStatus.WAITING_APPROVAL, RunStatus.WAITING_APPROVAL),
    (StepStatus.FAILED_RETRYABLE, RunStatus.FAILED_RETRYABLE),
    (StepStatus.PARKED, RunStatus.WAITING),
)


def freed_by(definition: Definition, event: Event) -> Collection[str]:
    """Return the steps that may start after `event`, as far as the definition tells."""
    match event:
        case Started():
            return [path for path in definition.steps if not definition.needs(path)]
        case StepMoved(path, status) if status in DONE:
            return definition.needed_by(path)
        case _:
            return ()


def run_status(present: Collection[StepStatus]) -> RunStatus:
    """Return the run's status that the statuses of its steps add up to; work to do outranks waiting."""
    for step, run in _WAITS_FIRST:
        if step in present:
            return run
    if DONE.issuperset(present):
        return RunStatus.SUCCEEDED
    return RunStatus.CANCELED if StepStatus.CANCELED in present else RunStatus.RUNNING


class _Planning:
    """One plan in the making; `steps` is the snapshot with the changes so far."""

    def __init__(self, definition: Definition, snapshot: Snapshot) -> None:
        self.definition = definition
        self.snapshot = snapshot
        self.steps: dict[str, StepState] = dict(snapshot.steps)
        self.transition = Transition(snapshot.status)

    def present(self) -> set[StepStatus]:
        """Return the statuses of the run's steps; of those that are left out, the ones that have not ended."""
        return {state.status for state in self.steps.values()} | self.snapshot.others

    def move(self, path: str, state: StepState) -> None:
        before = self._state(path).status
        if is_final(STEP, before):
            return  # a late answer about a step that has ended changes nothing
        check(STEP, before, state.status)
        self.steps[path] = state
        self.transition.steps[path] = state

    def start_what_is_free(self, candidates: Iterable[str]) -> None:
        """Start those of the steps that are free; skipping one may free those that need it."""
        while free := [path for path in self.definition.in_order(candidates) if self._is_free(path)]:
            for path in free:
                self._start(path)
            skipped = [path for path in free if self.steps[path].status in DONE]
            candidates = [follower for path in skipped for follower in self.definition.needed_by(path)]

    def halt_if_failed(self) -> None:
        changed = self.transition.steps  # a run in which a step failed before has ended
        failed = [path for path, state in changed.items() if state.status is StepStatus.FAILED_TERMINAL]
        if failed:
            self.cancel_rest(f"step {self.definition.in_order(failed)[0]} failed")

    def cancel_rest(self, reason: str) -> None:
        if len(self.steps) < len(self.definition.steps):
            raise NotLoadedError(None)
        for path, state in self.steps.items():
            if not is_final(STEP, state.status):
                self.move(path, StepState(StepStatus.CANCELED, error=reason))
        self.transition.proposals.clear()
        self.transition.reads.clear()
        self.transition.timers.clear()

    def _is_free(self, path: str) -> bool:
        if self._state(path).status is not StepStatus.PENDING:
            return False
        needs = self.definition.needs(path)
        if any(self.steps[need].status not in DONE for need in needs if need in self.steps):
            return False
        if missing := frozenset(needs).difference(self.steps):
            raise NotLoadedError(missing)
        return True

    def _state(self, path: str) -> StepState:
        if path not in self.steps and path in self.definition.steps:
            raise NotLoadedError(frozenset({path}))
        return self.steps[path]

    def _start(self, path: str) -> None:
        context = self._context(path)
        try:
            reason = self._reason_to_skip(path, context)
            if reason:
                self.move(path, StepState(StepStatus.SKIPPED, error=reason))
            else:
                self._propose(path, context)
        except (ExpressionError, ParamsError, ReceiptsError) as error:
            self.move(path, StepState(StepStatus.FAILED_TERMINAL, error=str(error)))

    def _reason_to_skip(self, path: str, context: Mapping[str, Json]) -> str:
        when = self.definition.steps[path].when
        if when is not None:
            return "" if evaluate_condition(when, context) else f"not so: {when}"
        skipped = [n for n in self.definition.needs(path) if self.steps[n].status is StepStatus.SKIPPED]
        return f"{skipped[0]} was skipped" if skipped else ""

    def _propose(self, path: str, context: Mapping[str, Json]) -> None:
        verb = self.definition.verb_of(path)
        params = resolve_params(verb, self.definition.steps[path].params, context)
        if verb.wait_type == "timer":
            self.move(path, StepState(StepStatus.PARKED))
            self.transition.timers.append(Timer(path, str(params["duration"])))
            return
        if verb.effect_class is EffectClass.READ:
            self.transition.reads.append(Read(path, verb, params))
        else:
            self.transition.proposals.append(self._proposal(path, verb, params))
        self.move(path, StepState(StepStatus.READY))

    def _proposal(self, path: str, verb: Verb, params: Mapping[str, Json]) -> Proposal:
        context: dict[str, Json] = {
            "params": params,
            "tenant": self.snapshot.tenant,
            "run": self._run(),
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
            correlation_key=self._correlation_key(path, verb, params),
        )
        for name in ("target", "idempotency_key", "correlation_key"):
            if len(getattr(proposal, name)) > KEY_LIMIT:
                raise ParamsError(f"{name} of {verb.name} is longer than {KEY_LIMIT} characters")
        return proposal

    def _correlation_key(self, path: str, verb: Verb, params: Mapping[str, Json]) -> str:
        if verb.kind is Kind.SYNC:
            return ""
        if verb.correlation_field is None:
            return f"{self.snapshot.run_id}:{path}"
        return f"{self.snapshot.tenant}:{verb.name}:{params[verb.correlation_field]}"

    def _run(self) -> dict[str, str]:
        return {
            "id": self.snapshot.run_id,
            "tenant": self.snapshot.tenant,
            "definition": self.definition.name,
        }

    def _context(self, path: str) -> dict[str, Json]:
        """Return what a step's expressions may name: of the other steps those that it needs, which have ended."""
        needed = {need: self.steps[need] for need in self.definition.needs(path)}
        steps = {need: {"status": str(state.status), "result": state.result} for need, state in needed.items()}
        return {"trigger": self.snapshot.trigger, "steps": steps, "run": self._run()}


def resolve_params(verb: Verb, params: Mapping[str, Json], context: Mapping[str, Json]) -> dict[str, Json]:
    """Return the params of a step: schema defaults under the verb's static params under the step's own."""
    properties = verb.input_schema.get("properties", {})
    defaults = {name: spec["default"] for name, spec in properties.items() if "default" in spec}
    resolved = {**defaults, **verb.static_params, **{name: render(value, context) for name, value in params.items()}}
    if wrong := fault(resolved, PARAMS_DEPTH):
        raise ParamsError(f"params of {verb.name}: {wrong}")
    try:
        fits(verb.input_schema, resolved, f"params of {verb.name}")
    except ParamsError as error:  # it quotes what does not fit
        raise ParamsError(Privacy().hiding(*hidden_values(resolved, verb.redact)).text(str(error))) from None
    return resolved


def fits(schema: Mapping[str, Any], value: Json, what: str) -> None:
    """Raise ParamsError naming the places where `value` does not fit `schema`."""
    found = [f"/{'/'.join(map(str, path))}: {message}" for path, _, message in violations(schema, value)]
    if found:
        more = f"; and {len(found) - NAMED_PROBLEMS} more" if len(found) > NAMED_PROBLEMS else ""
        raise ParamsError(f"{what}: {'; '.join(found[:NAMED_PROBLEMS])}{more}")
