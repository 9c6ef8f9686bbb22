"""`end`: the run is over, with a word and a result, whatever else is open, unless it failed at that moment."""

from runtime.definitions.cel.expressions import render
from runtime.definitions.nodes import EndSpec
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.planning.context import Context
from runtime.planning.params import expect_kept
from runtime.planning.plan_builder import Planning
from runtime.planning.values import Ended


def start(planning: Planning, path: str, context: Context) -> None:
    """End the run; the first of two ends that are reached at once counts, and a failure before either."""
    if planning.failed():
        return  # the run fails by that, and this step is canceled with the rest
    spec = planning.definition.spec(path, EndSpec)
    result = render(spec.result, context)
    expect_kept(result, "result")
    planning.move(path, StepState(StepStatus.SUCCEEDED, {"outcome": spec.outcome}))
    planning.transition.ended = planning.transition.ended or Ended(spec.outcome, result, spec.result is not None)
