"""What a run came to, for those who are told: what failed, what people rejected, and what was not done and why."""

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.definitions.model import Definition
from runtime.model.run import StepState
from runtime.model.states import RunStatus, StepStatus
from runtime.planning.plan_builder import said_no


@dataclass(frozen=True)
class StepNote:
    """One step, and why it is named."""

    step: str
    why: str


@dataclass(frozen=True)
class Ending:
    """The end of a run. A review that said no is a result, and no failure: it is among `rejected` all the same.

    `handled` failed, and a branch took that up.
    """

    status: RunStatus
    failed: tuple[StepNote, ...]
    handled: tuple[StepNote, ...]
    rejected: tuple[StepNote, ...]
    skipped: tuple[StepNote, ...]


def ending_of(definition: Definition, status: RunStatus, steps: Mapping[str, StepState]) -> Ending:
    """Return what a run of `definition` came to with its steps as they ended."""
    in_order = {path: steps[path] for path in definition.in_order(steps)}
    return Ending(
        status,
        failed=_notes(in_order, StepStatus.FAILED_TERMINAL),
        handled=_notes(in_order, StepStatus.FAILED_HANDLED),
        rejected=tuple(
            StepNote(path, str(state.result.get("reason", "")))
            for path, state in in_order.items()
            if said_no(definition, path, state.result)
        ),
        skipped=_notes(in_order, StepStatus.SKIPPED),
    )


def _notes(steps: Mapping[str, StepState], status: StepStatus) -> tuple[StepNote, ...]:
    return tuple(StepNote(path, state.error) for path, state in steps.items() if state.status is status)
