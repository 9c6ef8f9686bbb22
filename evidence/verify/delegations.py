"""Delegations: votes that were given for somebody else, by a delegation that is on record."""

from collections.abc import Iterator

from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule, counted, rule
from evidence.verify.vote_forms import DelegationForm, VoteForm
from evidence.verify.votes import demand_of_tenant
from receipts.errors import ReceiptsError
from receipts.tenant_acts import DelegationRecorded, act_of

_TOLD = ("delegation_id", "delegator", "groups", "starts_at", "ends_at", "reason")


@rule(
    "votes.for-others",
    "A vote with a `delegation` is for somebody else than its person, was given in the time of that (from `starts_at`,"
    " before `ends_at`), and for groups that it names; its person has not recorded it themselves.",
)
def _for_others(facts: Facts) -> str:
    given = list(_given_for_others(facts))
    for name, vote, delegation in given:
        _check(name, vote, delegation)
    return counted(len(given), "vote")


def _given_for_others(facts: Facts) -> Iterator[tuple[str, VoteForm, DelegationForm]]:
    """Give each vote by delegation with the member that tells of it."""
    for approval in facts.approvals.values():
        for vote in approval.votes:
            if vote.record.delegation is not None:
                yield approval.name, vote.record, vote.record.delegation


def _check(name: str, vote: VoteForm, delegation: DelegationForm) -> None:
    whose = f"the vote of {vote.person} for {delegation.delegator}"
    if vote.person in (delegation.delegator, delegation.recorded_by):
        raise BrokenError(name, f"{whose} is by their own leave")
    if not delegation.starts_at <= vote.at < delegation.ends_at:
        raise BrokenError(name, f"{whose} was not given in the time of their delegation")
    if not set(vote.groups) <= set(delegation.groups):
        raise BrokenError(name, f"{whose} is for groups that their delegation does not give")


@rule(
    "delegations.recorded",
    "A `delegation` has as its `acts` one leaf of the tenant's chain, which gives its hash: the `delegation.recorded`"
    " of that `delegation_id`, by the person who recorded it (`recorded_by`), not after the vote, with the vote's"
    " person as `delegate` and the same `delegator`, `groups`, `starts_at`, `ends_at` and `reason`.",
)
def _recorded(facts: Facts) -> str:
    given = list(_given_for_others(facts))
    for name, vote, delegation in given:
        _check_record(facts, name, vote, delegation)
    return counted(len(given), "delegation")


def _check_record(facts: Facts, name: str, vote: VoteForm, delegation: DelegationForm) -> None:
    whose = f"the delegation by which {vote.person} voted for {delegation.delegator}"
    demand_of_tenant(facts, name, whose, delegation.acts)
    first, *others = delegation.acts
    try:
        act = act_of(first)
    except ReceiptsError as error:
        raise BrokenError(name, str(error)) from error
    if others or not isinstance(act, DelegationRecorded):
        raise BrokenError(name, f"{whose} has not the one act that recorded it")
    said = {member: getattr(delegation, member) for member in _TOLD}
    told = {member: getattr(act, member) for member in _TOLD}
    if told != said or act.delegate != vote.person:
        raise BrokenError(name, f"{whose} was recorded otherwise")
    if (first.actor.id, first.actor.kind) != (delegation.recorded_by, "person") or first.at > vote.at:
        raise BrokenError(name, f"{whose} was recorded by {first.actor.id} at {first.at}")


RECORDED: tuple[Rule[Facts], ...] = (_recorded,)
RULES: tuple[Rule[Facts], ...] = (_for_others,)
