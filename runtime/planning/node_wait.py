"""`wait`: for a time to pass or to come, or for a signal."""

from runtime.definitions.cel.expressions import render_text
from runtime.definitions.nodes import WaitSpec
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.planning.context import Context
from runtime.planning.params import duration_of, moment_of
from runtime.planning.plan_builder import Planning
from runtime.planning.values import SignalWait, Timer


def start(planning: Planning, path: str, context: Context) -> None:
    """Park the step until then."""
    spec = planning.definition.spec(path, WaitSpec)
    if spec.signal is not None:
        planning.transition.signals.append(SignalWait(path, spec.signal, **_ends(spec, context)))
    else:
        planning.transition.timers.append(Timer(path, **_ends(spec, context)))
    planning.move(path, StepState(StepStatus.PARKED))


def _ends(spec: WaitSpec, context: Context) -> dict[str, str]:
    """Return when the wait is over: after a `duration`, or at the moment `until`."""
    if spec.until is not None:
        return {"until": moment_of(render_text(spec.until, context))}
    return {"duration": duration_of(render_text(spec.for_ or spec.timeout or "", context))}
