"""Who is still waited for: by the rules that a vote of theirs would be held to."""

from collections.abc import Sequence

from runtime.approvals.rules import Ballot
from runtime.approvals.standing_in import way_to_vote
from runtime.inbox.vote_refusals import ballot_of, holder_of
from runtime.model.actor import Person
from runtime.model.approval import Approval
from runtime.model.votes import Refusal, VoteVerdict
from runtime.store import directory
from runtime.store.delegations import stand_ins_of
from runtime.store.run_tx import RunTx


async def undecided(tx: RunTx, approval: Approval) -> list[str]:
    """Return the Slack accounts of all who may decide it now, themselves or for somebody, and have not."""
    ballot = ballot_of(approval, await tx.loads.votes(approval.approval_id), tx.row, await holder_of(tx, approval))
    asked = approval.requirement.electorate(approval.joined)
    users = await directory.accounts_in_groups(tx.conn, tx.tenant, asked, tx.now)
    behind = await directory.people_behind(tx.conn, tx.tenant, users)
    return [user for team, user, person in behind if await _may_vote(tx, ballot, person, [(team, user)])]


async def _may_vote(tx: RunTx, ballot: Ballot, person: Person, accounts: Sequence[tuple[str, str]]) -> bool:
    asks_for_others = set(person.groups).isdisjoint(ballot.requirement.electorate(ballot.joined))
    stand_ins = await stand_ins_of(tx.conn, tx.tenant, person.id, tx.now) if asks_for_others else []
    way = way_to_vote(ballot, person, accounts, stand_ins, VoteVerdict.APPROVE, None, tx.now)
    return not isinstance(way, Refusal)
