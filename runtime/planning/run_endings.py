"""Ends of runs, for those who are told: what failed, what people rejected, what was not done and why.

Whoever asked for a run is told how it ended in the words of its runbook's author.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from receipts.fields import timestamp
from receipts.redaction import redact
from runtime.definitions.cel.expressions import render_text
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import Definition
from runtime.model.run import StepState
from runtime.model.states import RunStatus, StepStatus
from runtime.planning.expression_context import approvals_of
from runtime.planning.plan_builder import said_no
from runtime.store import approvals
from runtime.store.run_tx import RunTx


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


LONGEST_RESPONSE = 500
"""Characters; what is longer is cut."""


async def response_of(tx: RunTx, definition: Definition, steps: Mapping[str, StepState]) -> str:
    """Return the author's words about the end, on one line; "" where there are none, or they cannot be evaluated.

    They are made of the trigger, the state and the results of steps without what nobody may see.
    """
    text = definition.response and definition.response.text_for(tx.status, tx.row["outcome"])
    if not text:
        return ""
    try:
        said = render_text(text, {**_context(tx, definition, steps), **await _approvals(tx, definition)})
    except ExpressionError:
        return ""
    line = " ".join((await tx.privacy()).text(said).split())
    return line if len(line) <= LONGEST_RESPONSE else f"{line[: LONGEST_RESPONSE - 1]}…"


async def _approvals(tx: RunTx, definition: Definition) -> dict[str, Any]:
    if not definition.reads_signers:
        return {}
    return {"approvals": approvals_of(await approvals.signers_of(tx.conn, tx.run_id), definition.block(""))}


def _context(tx: RunTx, definition: Definition, steps: Mapping[str, StepState]) -> dict[str, Any]:
    known = {path: steps[path] for path in definition.block("") if path in steps}
    return {
        "trigger": redact(tx.row["trigger"]).value,
        "state": redact(tx.row["state"] or {}).value,
        "steps": {
            path: {"status": str(state.status), "result": redact({"of": state.result}).value["of"]}
            for path, state in known.items()
        },
        "run": {
            "id": tx.run_id,
            "tenant": tx.tenant,
            "definition": definition.name,
            "version": definition.version,
            "reference": tx.row["reference"],
            "started_at": timestamp(tx.row["created_at"]),
        },
    }
