"""Reads what a vote is judged by in one round trip: under the run's lock it is all of one moment."""

from runtime.inbox.vote_refusals import accounts_of, person_of
from runtime.model.notification_people import VotePayload
from runtime.model.vote_context import VoteContext
from runtime.store.database.round_trips import at_once
from runtime.store.run_tx import RunTx


async def vote_context(tx: RunTx, payload: VotePayload) -> VoteContext | None:
    """Return what the vote is judged by, None without the request; the run's privacy is known afterwards, too."""
    approval_id, person_id = payload.approval_id, payload.person_id
    approval, *rest, _ = await at_once(
        tx.loads.approval(approval_id),
        tx.loads.votes(approval_id),
        person_of(tx, payload),
        accounts_of(tx, person_id, payload),
        tx.loads.card(approval_id),
        tx.loads.opened((approval_id, person_id or "")),
        tx.privacy(),
    )
    return None if approval is None else VoteContext(approval, *rest)
