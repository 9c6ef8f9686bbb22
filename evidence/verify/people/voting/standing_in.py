"""Rules about votes that were given for somebody else."""

from evidence.verify.material.contents import BrokenError
from evidence.verify.material.facts import Facts
from evidence.verify.material.forms import DelegationForm, VoteForm
from evidence.verify.rules import Rule, counted, rule


@rule(
    "votes.for-others",
    "A vote with a `delegation` is for somebody else than its person, was given in the time of that (from `starts_at`,"
    " before `ends_at`), and for groups that it names; its person has not recorded it themselves.",
)
def _for_others(facts: Facts) -> str:
    found = 0
    for approval in facts.approvals.values():
        for vote in approval.votes:
            if vote.record.delegation is not None:
                _check(approval.name, vote.record, vote.record.delegation)
                found += 1
    return counted(found, "vote")


def _check(name: str, vote: VoteForm, delegation: DelegationForm) -> None:
    whose = f"the vote of {vote.person} for {delegation.delegator}"
    if vote.person in (delegation.delegator, delegation.recorded_by):
        raise BrokenError(name, f"{whose} is by their own leave")
    if not delegation.starts_at <= vote.at < delegation.ends_at:
        raise BrokenError(name, f"{whose} was not given in the time of their delegation")
    if not set(vote.groups) <= set(delegation.groups):
        raise BrokenError(name, f"{whose} is for groups that their delegation does not give")


RULES: tuple[Rule[Facts], ...] = (_for_others,)
