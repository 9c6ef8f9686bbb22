"""The rule about voters: who gave a vote might, whatever it says, and whatever came of it."""

from evidence.verify.authority import asked_at, requesters_of
from evidence.verify.comparing import broken
from evidence.verify.facts import Counted, Facts, Requested
from evidence.verify.quorum import breaks_glass
from evidence.verify.rules import Rule, counted, rule


@rule(
    "votes.entitled",
    "Whoever gave a vote might, whatever it says and whatever came of it: neither its people nor who recorded its"
    " `delegation` wanted the effect or is excluded, as in `approvals.consent`; none of its people had another vote on"
    " the approval that counted then; and it is of a group that was asked by then, or breaks the glass.",
)
def _entitled(facts: Facts) -> str:
    votes = 0
    for approval in facts.approvals.values():
        asked, barred = asked_at(facts.contents, approval.record), barred_from(facts, approval)
        for vote in approval.votes:
            if wrong := _why_not(approval, vote, asked[vote.leaf.seq], barred):
                raise broken(vote.leaf, f"the vote of {vote.record.person} does not count: {wrong}")
            votes += 1
    return counted(votes, "vote")


def barred_from(facts: Facts, approval: Requested) -> set[str]:
    """Return who may decide nothing of an approval: who wanted its effect, and whom policy excludes."""
    return requesters_of(facts.contents, approval.record) | set(approval.record.requirement.exclude)


def _why_not(approval: Requested, vote: Counted, asked: set[str], barred: set[str]) -> str:
    """Return why a vote might not be given, "" where it might; `asked` are the groups by then."""
    record = vote.record
    people = {*record.people, *([record.delegation.recorded_by] if record.delegation else ())}
    if wanting := sorted(people & barred):
        return f"{wanting[0]} wanted it, or was excluded"
    if any(not set(other.record.people).isdisjoint(record.people) for other in approval.standing_before(vote.leaf)):
        return "they had voted"
    is_asked = not asked.isdisjoint(record.groups) or breaks_glass(approval.record.requirement, record)
    return "" if is_asked else "they are in none of the groups that were asked"


RULES: tuple[Rule[Facts], ...] = (_entitled,)
