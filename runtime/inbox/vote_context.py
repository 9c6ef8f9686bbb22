"""Reads what a vote is judged by in one round trip: under the run's lock it is all of one moment."""

from runtime.inbox.signing import key_of
from runtime.inbox.vote_refusals import accounts_of, person_of
from runtime.model.notification_people import VotePayload
from runtime.model.states import StepStatus
from runtime.model.vote_context import VoteContext
from runtime.model.votes import Via
from runtime.planning.advance import looks_ahead
from runtime.planning.planner import StepMoved
from runtime.store.database.round_trips import at_once
from runtime.store.run_tx import RunTx


async def vote_context(tx: RunTx, payload: VotePayload, step: str | None) -> VoteContext | None:
    """Return what the vote is judged by, None without the request; the run's privacy is known afterwards, too.

    `step` is that of the request.
    """
    approval_id, person_id = payload.approval_id, payload.person_id
    looks = looks_ahead(tx, await tx.definition(), event, approval_id) if (event := _event(payload, step)) else ()
    approval, votes, person, accounts, card, opened_at, key, *_ = await at_once(
        tx.loads.approval(approval_id),
        tx.loads.votes(approval_id),
        person_of(tx, payload),
        accounts_of(tx, person_id, payload),
        tx.loads.card(approval_id),
        tx.loads.opened((approval_id, person_id or "")),
        key_of(tx, payload),
        tx.privacy(),
        *looks,
    )
    return None if approval is None else VoteContext(approval, votes, person, accounts, card, opened_at, key)


def _event(payload: VotePayload, step: str | None) -> StepMoved | None:
    """Return what follows if the vote decides; None where whoever brings it does not wait until it is counted."""
    return StepMoved(step, StepStatus.SUCCEEDED) if step and payload.via is not Via.SLACK else None
