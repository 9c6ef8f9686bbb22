"""What a run would begin with, and whether a denial of that would end it: planned ahead, and nothing follows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from receipts.fields import timestamp
from runtime.definitions.cel.outcomes import Outcome
from runtime.definitions.model import Definition
from runtime.model.errors import ErrorCode
from runtime.model.run import StepState
from runtime.model.states import RunStatus, StepStatus
from runtime.planning.planner import Proposal, Snapshot, Started, StepMoved, plan
from runtime.planning.values import after


def begun(
    definition: Definition, run: Mapping[str, Any], about: str, evaluated: Mapping[str, Outcome]
) -> tuple[Snapshot, Sequence[Proposal]]:
    """Return a run, by the row that it would have, as it begins, and the effects that it begins with.

    Raise NotEvaluatedError where that takes what a costly expression gives.
    """
    queued = Snapshot(
        run["run_id"],
        run["tenant"],
        RunStatus.QUEUED,
        run["trigger"],
        {path: StepState(StepStatus.PENDING) for path in definition.block("")},
        started_at=timestamp(run["created_at"]),
        reference=about,
        evaluated=evaluated,
    )
    transition = plan(definition, queued, Started())
    return after(queued, transition), transition.proposals


def ends_by_denial(definition: Definition, begun: Snapshot, path: str) -> bool:
    """Return whether the run fails where policy denies a step; not where the runbook says how it goes on then."""
    denied = StepMoved(path, StepStatus.FAILED_TERMINAL, error_code=ErrorCode.DENIED)
    return plan(definition, begun, denied).run is RunStatus.FAILED_TERMINAL
