"""What whoever asked for a run is told when it ends, in the words of its runbook's author."""

from collections.abc import Mapping
from typing import Any

from receipts.fields import timestamp
from receipts.redaction import redact
from runtime.definitions.cel.expressions import render_text
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import Definition
from runtime.model.run import StepState
from runtime.planning.context import approvals_of
from runtime.store import approvals
from runtime.store.run_tx import RunTx

LONGEST = 500
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
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


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
