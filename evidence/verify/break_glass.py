"""Break-glass votes: by whom they might be given, and that another has said whether it was right."""

from dataclasses import dataclass
from datetime import timedelta

from evidence.records import BreakGlassUseRecord
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts, Requested
from evidence.verify.quorum import uses_break_glass
from evidence.verify.rules import Rule, agree, counted, duration_of, moment, rule
from evidence.verify.vote_forms import VoteForm
from evidence.verify.votes import REASON_MIN


@dataclass(frozen=True)
class _Broken:
    """A vote that used break-glass, what it said of that, and its approval."""

    approval: Requested
    vote: VoteForm
    said: BreakGlassUseRecord
    seq: int

    def is_shortly_before(self, other: "_Broken") -> bool:
        """Return whether the same person used this one first, in the time for which the other counts."""
        break_glass = other.approval.record.requirement.break_glass
        within = duration_of(break_glass.within, other.approval.name) if break_glass else timedelta(0)
        since = moment(other.vote.at) - within
        return self.vote.person == other.vote.person and self.seq < other.seq and moment(self.vote.at) > since


def _broken(facts: Facts) -> list[_Broken]:
    return [
        _Broken(approval, vote.record, vote.record.break_glass, vote.leaf.seq)
        for approval in facts.approvals.values()
        for vote in approval.votes
        if vote.record.break_glass is not None
    ]


def _asked_afterwards(facts: Facts) -> list[Requested]:
    return [approval for approval in facts.approvals.values() if approval.record.kind == "afterwards"]


@rule(
    "votes.break-glass",
    "A vote with a `break_glass` is on an approval of kind `effect`, by somebody of the groups of the requirement's"
    " `break_glass`, approves, is for nobody else, has a reason of three characters or more, a `ticket` that is no"
    " blank, and an `nth` of no more than `at_most`, and more than there are votes of the run by which that person"
    " used break-glass in the time before (`within`). At its moment one approval of kind `afterwards` of the same"
    " effect and digest is requested.",
)
def _break_glass(facts: Facts) -> str:
    found = _broken(facts)
    for broken in found:
        approval, vote = broken.approval, broken.vote
        whose = f"{vote.person} used break-glass"
        if approval.record.kind != "effect" or not uses_break_glass(approval.record.requirement, vote):
            raise BrokenError(approval.name, f"{whose}, and might not")
        if len(vote.reason.strip()) < REASON_MIN or not broken.said.ticket.strip():
            raise BrokenError(approval.name, f"{whose}, and says not why")
        if broken.said.nth <= sum(other.is_shortly_before(broken) for other in found):
            raise BrokenError(approval.name, f"{whose} more often than it says")
        if sum(_is_about(review, broken) for review in _asked_afterwards(facts)) != 1:
            raise BrokenError(approval.name, f"{whose}, and people were not asked once whether that was right")
    return counted(len(found), "vote")


def _is_about(review: Requested, broken: _Broken) -> bool:
    """Return whether people were asked afterwards about this vote."""
    asked, approval, vote = review.record, broken.approval, broken.vote
    return (asked.effect_id, asked.digest, asked.step, asked.requested_at) == (
        *(approval.record.effect_id, approval.record.digest, approval.record.step),
        vote.at,
    )


@rule(
    "approvals.of-break-glass-review",
    "An approval of kind `afterwards` is about a vote that used break-glass. It asks one person of the `review_by` of"
    " that requirement, for a reason, within its `review_within`, and excludes who used it, the requester and the"
    " submitter of the run.",
)
def _of_break_glass_review(facts: Facts) -> str:
    found = _asked_afterwards(facts)
    for review in found:
        about = [broken for broken in _broken(facts) if _is_about(review, broken)]
        if not about:
            raise BrokenError(review.name, "nobody used break-glass when it was asked")
        approval, vote = about[0].approval, about[0].vote
        required, break_glass = review.record.requirement, approval.record.requirement.break_glass
        barred = sorted({vote.person, facts.contents.run.requested_by, facts.contents.run.submitted_by})
        asked = (required.quorum, required.all_groups, required.reason_required, required.escalate_to)
        if break_glass is None:
            raise BrokenError(approval.name, "allows no break-glass")
        agree(
            review.name,
            approval.name,
            requirement=(asked, (1, False, True, [])),
            groups=(required.groups, break_glass.review_by),
            within=(required.expires_in, break_glass.review_within),
            exclude=(required.exclude, barred),
        )
    return counted(len(found), "approval")


RULES: tuple[Rule[Facts], ...] = (_break_glass, _of_break_glass_review)
