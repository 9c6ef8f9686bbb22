"""One plan in the making: the snapshot with the changes so far, and what the steps want."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runtime.definitions.model import Definition
from runtime.definitions.nodes import BODY, BranchName
from runtime.model.limits import json_fault
from runtime.model.run import StepState
from runtime.model.states import STEP, StepStatus, check, has_stopped, is_final
from runtime.model.steps import CLASS_OF, ErrorClass, ErrorCode, ParamsError, address_of, inside
from runtime.planning.step_params import fits
from runtime.planning.transition import Json, NotLoadedError, Snapshot, Transition

DONE = frozenset({StepStatus.SUCCEEDED, StepStatus.SKIPPED, StepStatus.FAILED_HANDLED})
"""What a step must have come to before those that need it may start."""
STATE_DEPTH = 60
"""Levels of the business state: what stands in it may become params, and these may be deeper."""
STATE_BYTES = 1024 * 1024
"""Of the business state as JSON: it is read and written whole with each step that changes it."""


class Planning:
    """The steps as they are by now, and what has come about that the next look has to follow up.

    `done` are those that came to an end since it was last asked, `fresh` the new ones that may start, `new` all that
    had no row.
    """

    def __init__(self, definition: Definition, snapshot: Snapshot) -> None:
        self.definition = definition
        self.snapshot = snapshot
        self.steps: dict[str, StepState] = dict(snapshot.steps)
        self.state: Mapping[str, Json] = snapshot.state
        self.reference = snapshot.reference
        self.transition = Transition(snapshot.status)
        self.done: list[str] = []
        self.fresh: list[str] = []
        self.new: set[str] = set()

    def present(self) -> set[StepStatus]:
        """Return the statuses of the run's steps; of those that are left out, the ones that have not ended."""
        return {state.status for state in self.steps.values()} | self.snapshot.others

    def look(self, path: str) -> StepState:
        """Return the state of a step; raise NotLoadedError where the snapshot leaves it out."""
        if path not in self.steps and address_of(path) in self.definition.steps:
            raise NotLoadedError(frozenset({path}))
        return self.steps[path]

    def look_all(self, paths: tuple[str, ...]) -> dict[str, StepState]:
        """Return the states of steps; raise NotLoadedError with all that the snapshot leaves out."""
        if missing := frozenset(paths).difference(self.steps):
            raise NotLoadedError(missing)
        return {path: self.steps[path] for path in paths}

    def failed(self) -> list[str]:
        """Return the steps that failed for good in this plan, in the definition's order."""
        changed = self.transition.steps  # a run in which a step failed before has ended
        found = [path for path, state in changed.items() if state.status is StepStatus.FAILED_TERMINAL]
        return self.definition.in_order(found) if found else []

    def is_done(self, path: str) -> bool:
        """Return whether a step has ended well, and the steps of the branch that its ending took."""
        state = self.look(path)
        if state.status not in DONE:
            return False
        taken = branch_taken(self.definition, path, state)
        return taken is None or self.look(inside(path, taken)).status in DONE

    def move(self, path: str, state: StepState) -> None:
        """Move a step; a failure with a branch is handled, others may need attention. What has ended stays."""
        if has_stopped(self.look(path).status):
            return  # a late answer about a step that has ended, or needs attention, changes nothing
        if state.status is StepStatus.FAILED_TERMINAL:
            state = replace(state, status=_failed(self.definition, path, state))
        self.put(path, state)

    def put(self, path: str, state: StepState) -> None:
        """Move a step, also one that may need attention."""
        before = self.look(path)
        check(STEP, before.status, state.status)
        self._keep_result(path, state)
        keeps = replace(state, kept=before.kept) if state.kept is None and before.kept is not None else state
        self.steps[path] = keeps
        self.transition.steps[path] = keeps if path in self.new else state
        if state.status in DONE:
            self.done.append(path)

    def _keep_result(self, path: str, state: StepState) -> None:
        key = self.definition.node(path).result_key
        if key and state.status is StepStatus.SUCCEEDED:
            self.assign({key: state.result})

    def add(self, path: str, state: StepState) -> None:
        """Give a step its row: its block has been entered."""
        self.steps[path] = self.transition.steps[path] = state
        self.transition.entered.append(path)
        self.new.add(path)

    def enter(self, path: str, branch: str = BODY) -> None:
        """Give the steps of a branch of the step, or iteration, at `path` their rows."""
        for one in self.definition.block(path, branch):
            self.add(one, StepState(StepStatus.PENDING))
            self.fresh.append(one)

    def keep(self, path: str, kept: Json) -> None:
        """Have a step that goes on keep something else."""
        self.steps[path] = replace(self.steps[path], kept=kept)
        self.transition.kept[path] = kept

    def assign(self, values: Mapping[str, Json]) -> None:
        """Give keys of the business state new values; raise ParamsError where it would not fit what is declared."""
        self.state = self.transition.state = state_with(self.definition, self.state, values)

    def cancel_rest(self, reason: str, pending: StepStatus = StepStatus.CANCELED) -> None:
        """End all that has not ended, in the definition's order; what nobody has begun comes to `pending`."""
        if not self.snapshot.whole:
            raise NotLoadedError(None)
        for path in self.definition.in_order(self.steps):  # however they were loaded: a replay finds the same
            state = self.steps[path]
            if not is_final(STEP, state.status):
                after = pending if state.status is StepStatus.PENDING else StepStatus.CANCELED
                self.put(path, StepState(after, error=reason))
        self.transition.want_nothing()


def state_with(definition: Definition, state: Mapping[str, Json], values: Mapping[str, Json]) -> dict[str, Json]:
    """Return the business state with other values; raise ParamsError where it would not fit what is declared."""
    changed = {**state, **values}
    if wrong := json_fault(changed, STATE_DEPTH, STATE_BYTES):
        raise ParamsError(f"state: {wrong}")
    if definition.state is not None:
        fits(definition.state, changed, "state")
    return changed


CHANGES_KEY = "changes_requested"
"""Stands in the result of a review that was rejected because something should be otherwise, and there alone."""
_DECIDED = frozenset({ErrorCode.REJECTED, ErrorCode.CHANGES_REQUESTED, ErrorCode.DENIED, ErrorCode.BUDGET})
"""What people or policy decided: no error, and nothing that anybody could mend."""


def _failed(definition: Definition, path: str, state: StepState) -> StepStatus:
    """Return what a failure of a step comes to."""
    if branch_taken(definition, path, state):
        return StepStatus.FAILED_HANDLED
    needs_attention = definition.node(path).needs_attention and state.error_code not in _DECIDED
    return StepStatus.NEEDS_ATTENTION if needs_attention else StepStatus.FAILED_TERMINAL


def branch_taken(definition: Definition, path: str, state: StepState) -> BranchName | None:
    """Return the branch that the ending of a step takes, None where it has none for that.

    A failure takes the branch of its kind before that of any failure; a review that said no is no success.
    """
    there = definition.branches(path)
    if not there or path.endswith("]"):
        return None
    return next((branch for branch in _wanted(definition, path, state) if branch in there), None)


def _wanted(definition: Definition, path: str, state: StepState) -> list[BranchName]:
    match state.status:
        case StepStatus.SUCCEEDED:
            return _answered(definition, path, state.result)
        case StepStatus.FAILED_TERMINAL | StepStatus.FAILED_HANDLED if _is_timeout(state):
            return [BranchName.TIMEOUT, BranchName.FAILURE]
        case StepStatus.FAILED_TERMINAL | StepStatus.FAILED_HANDLED if state.error_code == ErrorCode.REJECTED:
            return [BranchName.REJECTED, BranchName.FAILURE]
        case StepStatus.FAILED_TERMINAL | StepStatus.FAILED_HANDLED if state.error_code == ErrorCode.CHANGES_REQUESTED:
            return [BranchName.CHANGES_REQUESTED, BranchName.REJECTED, BranchName.FAILURE]
        case StepStatus.FAILED_TERMINAL | StepStatus.FAILED_HANDLED:
            return [BranchName.FAILURE]
    return []


def _answered(definition: Definition, path: str, result: Any) -> list[BranchName]:
    """Return the branches of what succeeded, the first that there is taken: of a review, by what people said."""
    if not said_no(definition, path, result):
        return [BranchName.SUCCESS]
    return [*([BranchName.CHANGES_REQUESTED] if CHANGES_KEY in result else []), BranchName.REJECTED]


def _is_timeout(state: StepState) -> bool:
    return bool(state.error_code) and CLASS_OF[ErrorCode(state.error_code)] is ErrorClass.TIMEOUT


def said_no(definition: Definition, path: str, result: Any) -> bool:
    """Return whether the step is a review that people answered with no."""
    verb = definition.calls(path)
    is_review = verb is not None and verb.wait_type == "human_task" and isinstance(result, Mapping)
    return bool(is_review and result.get("decision") == "rejected")
