"""Reads by what a vote is judged, in one round trip: under the run's lock it is all of one moment."""

from runtime.inbox.people.voters import accounts_behind, person_of
from runtime.model.approvals.seen import Seen
from runtime.model.notification.people import VotePayload
from runtime.store.database.flights import at_once
from runtime.store.transactions.run_tx import RunTx


async def look_at(tx: RunTx, payload: VotePayload) -> Seen:
    """Return what the vote is judged by; the run's privacy is known afterwards, too."""
    approval_id, person_id = payload.approval_id, payload.person_id
    *seen, _ = await at_once(
        tx.loads.approval(approval_id),
        tx.loads.votes(approval_id),
        person_of(tx, payload),
        accounts_behind(tx, person_id, payload),
        tx.loads.card(approval_id),
        tx.loads.opened((approval_id, person_id or "")),
        tx.privacy(),
    )
    return Seen(*seen)
