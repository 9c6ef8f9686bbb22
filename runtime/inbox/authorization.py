"""Authorization of operators' acts by policy: asked outside of every transaction, like all that calls others."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from policy.contract import ActorInput, OperatedRun, OperatorQuestion
from receipts.chain import PROGRAM
from receipts.fields import timestamp
from runtime.engine import Engine
from runtime.inbox.delegations import authorize_delegation
from runtime.inbox.operator_acts import actor_of, authorize_install_link
from runtime.inbox.passkey_registration import authorize_passkey_act
from runtime.inbox.request_edits import foresee_edit
from runtime.inbox.step_repairs import authorize_repair
from runtime.model.commands import (
    CancelPayload,
    DelegatePayload,
    InstallLinkPayload,
    InvitePasskeyPayload,
    RepairStepPayload,
    RevokePasskeyPayload,
    UndelegatePayload,
)
from runtime.model.notification import Addressed, Judged
from runtime.model.payloads import EditPayload
from runtime.store.operator_lists import find_run


async def authorize(engine: Engine, found: Addressed) -> Addressed:
    """Return a notification with what policy says of it, where that is asked; raise PolicyUnavailableError.

    What the program wants of its own accord is no person's act: it ends the runs whose end nobody waits for any more.
    """
    payload = found.notification.payload
    if found.notification.actor == PROGRAM:
        return found
    if isinstance(payload, DelegatePayload | UndelegatePayload):
        return await authorize_delegation(engine, found, payload)
    if isinstance(payload, InstallLinkPayload):
        return await authorize_install_link(engine, found)
    if isinstance(payload, InvitePasskeyPayload | RevokePasskeyPayload):
        return await authorize_passkey_act(engine, found, payload)
    if found.run_id is None:
        return found
    return await _authorize_on_run(engine, found)


async def _authorize_on_run(engine: Engine, found: Addressed) -> Addressed:
    match found.notification.payload:
        case EditPayload() as edit:
            return replace(found, foreseen=await foresee_edit(engine, edit.approval_id, edit.person_id, edit.params))
        case RepairStepPayload() as mend:
            return await authorize_repair(engine, found, mend)
        case CancelPayload() as cancel:
            return await _authorize_cancel(engine, found, cancel)
    return found


async def _authorize_cancel(engine: Engine, found: Addressed, payload: CancelPayload) -> Addressed:
    async with engine.pool.connection() as conn:
        run = await find_run(conn, engine.tenant, payload.run_id)
    if run is None or run["finished_at"] is not None:
        return found
    actor = await actor_of(engine, found.notification, payload.submitted_by)
    return replace(found, judged=Judged(await engine.policy.judge(cancel_question(engine, run, actor))))


def cancel_question(engine: Engine, run: Mapping[str, Any], actor: ActorInput) -> OperatorQuestion:
    """Return what policy is asked about the end of a run that somebody wishes for."""
    return OperatorQuestion(
        time=timestamp(engine.clock()),
        tenant=engine.tenant,
        actor=actor,
        act="cancel",
        run=OperatedRun(
            id=run["run_id"],
            definition=run["definition_name"],
            version=run["definition_version"],
            trigger_type=run["trigger_type"],
            requested_by=run["requested_by"],
            submitted_by=run["submitted_by"],
        ),
        step=None,
    )
