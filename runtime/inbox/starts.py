"""Starts a run because another one waits too long: once for each entry of an escalation, in its transaction."""

from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.model.life import NotActiveError, starting
from runtime.model.messages import NotStarted
from runtime.model.wait import Wait
from runtime.outbox import messages
from runtime.planning.triggers import Trigger, TriggerError, check_payload, claim_in
from runtime.store.lives import lives_of_name
from runtime.store.run_tx import RunTx


async def start_run_for(engine: Engine, tx: RunTx, wait: Wait, entry: int | None, runbook: str) -> dict[str, Any]:
    """Start a run of the runbook, on behalf of whoever asked for the one that waits, and return what is on record.

    Where it cannot be started, operators are told why.
    """
    try:
        return {"runbook": runbook, "run_id": await _start(engine, tx, wait, entry, runbook)}
    except (NotActiveError, TriggerError) as error:
        why = (await tx.privacy()).text(str(error))
        said = NotStarted(run=await messages.run_name(tx), step=wait.step, runbook=runbook, why=why)
        name = f"not_started:{wait.wait_id}:{entry}"
        await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), name, said, wait.approval_id)
        return {"runbook": runbook, "error": why}


async def _start(engine: Engine, tx: RunTx, wait: Wait, entry: int | None, runbook: str) -> str:
    lives = await lives_of_name(tx.conn, tx.tenant, runbook)
    if not lives:
        raise TriggerError("there is no such runbook")
    definition = await tx.definitions.get(tx.conn, runbook, starting(lives, None).version)
    what = (await tx.definition()).verb_of(wait.step).description
    reference = tx.row["reference"] or tx.row["trigger_ref"]
    trigger = Trigger(
        tenant=tx.tenant,
        type=definition.trigger_type,
        ref=f"{wait.run_id}:{wait.wait_id}:{entry}",
        payload={
            "run": wait.run_id,
            "step": wait.step,
            "reference": reference,
            "what": what,
        },
        requested_by=Actor(id=tx.row["requested_by"], kind=tx.row["requester_kind"]),
        submitted_by=tx.row["submitted_by"],
        request_id=tx.request_id,
    )
    check_payload(definition, trigger)
    claimed = await claim_in(engine, tx.conn, definition, trigger)
    tx.conn.on_commit(engine.wakeup.poke)
    return claimed.run_id
