"""`set` and `reference`: what a run keeps of its business, and by what people know it."""

from runtime.definitions.cel.expressions import render, render_text
from runtime.definitions.nodes import ReferenceSpec, SetSpec
from runtime.model.errors import ParamsError
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.planning.context import Context
from runtime.planning.plan_builder import Planning

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
