"""Context of a step's expressions: trigger, state, run, the steps that it needs, and what steps around it give."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.definitions.cel.expressions import EVALUATED, PINNED
from runtime.definitions.nodes import BranchName, NodeKind
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.model.steps import ErrorCode, StepError, around, block_of, id_of, iterated
from runtime.planning.plan_builder import CHANGES_KEY, Planning

Json = Any
Context = dict[str, Json]


def context_of(planning: Planning, path: str, inner: Iterable[str] = ()) -> Context:
    """Return what a step's expressions may name: of the other steps those that it needs, which have ended.

    `inner` are steps inside it, for what a `repeat` says about its iterations.
    """
    needed = {id_of(need): planning.look(need) for need in (*planning.definition.needs(path), *inner)}
    context: Context = {
        EVALUATED: planning.snapshot.evaluated,
        "trigger": planning.snapshot.trigger,
        "steps": {name: {"status": str(state.status), "result": state.result} for name, state in needed.items()},
        "run": run_facts(planning),
        "state": planning.state,
    }
    if planning.definition.reads_signers:
        context["approvals"] = approvals_of(planning.snapshot.signers, (*planning.definition.needs(path), *inner))
    if planning.definition.functions:
        context[PINNED] = planning.definition.functions
    holders = [path, *around(path)] if iterated(path) else around(path) if "." in path else ()
    for holder in holders:
        for name, value in _said_by(planning, holder).items():
            context.setdefault(name, value)
    return context


def approvals_of(signers: Mapping[str, Sequence[str]], paths: Iterable[str]) -> dict[str, Json]:
    """Return what expressions may read of who signed for steps; nobody for what needed no signature."""
    return {id_of(path): {"signers": list(signers.get(path, ()))} for path in paths}


def run_facts(planning: Planning) -> dict[str, Json]:
    """Return what expressions may read of the run."""
    snapshot, definition = planning.snapshot, planning.definition
    return {
        "id": snapshot.run_id,
        "tenant": snapshot.tenant,
        "definition": definition.name,
        "version": definition.version,
        "reference": planning.reference,
        "started_at": snapshot.started_at,
    }


def _said_by(planning: Planning, holder: str) -> Context:
    """Return the variables that a step around another gives it."""
    if iterated(holder):
        return dict(planning.look(holder).kept or {})
    if planning.definition.node(holder).kind is not NodeKind.BRANCH:
        return {}
    of = block_of(holder)
    state = planning.look(of)
    if id_of(holder) != BranchName.SUCCESS:
        return {"error": _error(of, state)}
    return {"signal": state.result} if planning.definition.node(of).kind is NodeKind.WAIT else {}


def _error(path: str, state: StepState) -> Context:
    if state.status is StepStatus.SUCCEEDED:  # a review that said no: a result, and a branch
        reason = state.result.get("reason", "")
        code = ErrorCode.CHANGES_REQUESTED if CHANGES_KEY in state.result else ErrorCode.REJECTED
        return {**StepError(code, reason).document(), "step": path}
    return {**StepError(ErrorCode(state.error_code), state.error).document(), "step": path}
