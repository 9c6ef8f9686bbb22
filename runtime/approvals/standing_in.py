"""The rules by which somebody votes for another: never around what either of the two may not do."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from runtime.approvals.rules import Ballot, refuse_vote
from runtime.model.actor import Person
from runtime.model.delegation import Account, StandIn
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict


def refuse_for(
    ballot: Ballot,
    person: Person,
    accounts: Iterable[Account],
    stand_in: StandIn,
    verdict: VoteVerdict,
    reason: str | None,
    now: datetime,
) -> Refusal | None:
    """Return why the person's vote does not count for their delegator, or None.

    It counts where both might give it: the delegator, and the delegate, were they in the groups of the delegator. A
    delegation holds from and to its moments, for its delegate alone, and not on what was asked for by whoever
    recorded it.
    """
    delegation, delegator = stand_in.delegation, stand_in.delegator
    if delegation.delegate != person.id or person.id in (delegator.id, delegation.recorded_by):
        return Refusal(RefusalCode.NOT_IN_GROUP, ballot.requirement.electorate(ballot.joined))
    if not delegation.covers(now):
        return Refusal(RefusalCode.NOT_IN_GROUP, ballot.requirement.electorate(ballot.joined))
    if delegation.recorded_by in (ballot.requested_by, ballot.submitted_by, *ballot.requirement.exclude):
        return Refusal(RefusalCode.REQUESTER)
    if ballot.holder is not None and ballot.holder.id == delegator.id:
        ballot = replace(ballot, holder=None)
    theirs = refuse_vote(ballot, delegator, stand_in.accounts, verdict, reason, now)
    return theirs or refuse_vote(ballot, replace(person, groups=delegator.groups), accounts, verdict, reason, now)


def way_to_vote(
    ballot: Ballot,
    person: Person,
    accounts: Sequence[Account],
    stand_ins: Sequence[StandIn],
    verdict: VoteVerdict,
    reason: str | None,
    now: datetime,
) -> StandIn | Refusal | None:
    """Return for whom a person who is not asked votes: the first delegator for whom it counts; else why it does not.

    None is for themselves: who is asked stands in for nobody.
    """
    refusal = refuse_vote(ballot, person, accounts, verdict, reason, now)
    if refusal is None or refusal.code is not RefusalCode.NOT_IN_GROUP:
        return refusal
    for stand_in in stand_ins:
        theirs = refuse_for(ballot, person, accounts, stand_in, verdict, reason, now)
        if theirs is None:
            return stand_in
        refusal = theirs if refusal.code is RefusalCode.NOT_IN_GROUP else refusal
    return refusal
