"""Rules about what became of approvals: policy is told of them as they are, and each is used once, in its time."""

from collections.abc import Sequence

from evidence.verify.contents import BrokenError
from evidence.verify.facts import ACTED, Decided, Facts, Requested
from evidence.verify.forms import ToldVote
from evidence.verify.rules import Rule, agree, broken_leaf, counted, duration_of, moment, rule
from evidence.verify.vote_forms import VoteForm
from receipts import canonical
from receipts.chain import EFFECT_EDITED, VOTE_RESTORED, Leaf
from receipts.fields import timestamp

STOPPED = "step.needs_attention"
UNTIL_KNOWN = ("in_doubt", "afterwards")
"""Kinds of what is asked until somebody answers."""
OVER = ("step.succeeded", "step.failed_handled", "step.failed_terminal", "step.skipped", "step.canceled")


@rule(
    "approvals.used-once",
    "What acted under an approval had begun before the approval's `expires_at`, as it was moved, or where its"
    " requirement says when (`execute`) earlier than `within` after its last vote, and all of it with one decision: one"
    " attempt uses an approval up, unless it is known to have done nothing.",
)
def _used_once(facts: Facts) -> str:
    used: dict[str, str | None] = {}
    for receipt in facts.receipts:
        record = receipt.record
        if record.outcome not in ACTED or record.approval_id is None:
            continue
        if used.setdefault(record.approval_id, record.decision_id) != record.decision_id:
            raise BrokenError(receipt.name, f"approval {record.approval_id} had been used up before")
        decided, approval = facts.decided[str(record.decision_id)], facts.approvals[record.approval_id]
        until = _usable_until(facts, approval, decided.leaf)
        if decided.leaf.at >= until:
            raise BrokenError(receipt.name, f"began at {decided.leaf.at}, when its approval had expired")
    return counted(len(used), "approval")


@rule(
    "approvals.ended",
    "An approval is `approved` or `rejected` at the moment of its last vote, or of the last that counts again"
    " (`vote.restored`); `expired` no earlier than at its `expires_at`, as it was moved; `canceled` once its step"
    " has ended, or needs attention, or in the line before the one with which it was edited (`effect.edited`). What"
    " asks what became of an attempt, or afterwards whether it was right, ends by a vote; the first also `canceled`"
    " once the answer came for which the attempt had asked: a `wait.completed` of its step, or where people are"
    " asked the end of its task. None but one of kind `in_doubt` stays open.",
)
def _ended(facts: Facts) -> str:
    for approval in facts.approvals.values():
        _check_end(facts, approval)
    return counted(len(facts.approvals), "approval")


def _usable_until(facts: Facts, approval: Requested, leaf: Leaf) -> str:
    """Return from when on it is void: its `expires_at`, or `within` after its last vote where it is said when."""
    record, granted = approval.record, _complete_at(facts, approval)
    if record.requirement.execute is None or not granted:
        return facts.until(record.id, record.expires_at, leaf)
    return timestamp(moment(granted) + duration_of(record.requirement.execute.within, approval.name))


def _complete_at(facts: Facts, approval: Requested) -> str | None:
    """Return when the last of its votes came to count: when it was given, or was restored before the end."""
    restored = [
        leaf.at
        for leaf in facts.contents.leaves_about.get(approval.record.id, ())
        if leaf.event == VOTE_RESTORED and approval.is_open_at(leaf)
    ]
    given = [vote.leaf.at for vote in approval.standing]
    return max([*given, *restored]) if given else None


def _check_end(facts: Facts, approval: Requested) -> None:
    record, end = approval.record, approval.end
    if end is None:
        if record.kind != "in_doubt":  # a break-glass is reviewed before the seal
            raise BrokenError(approval.name, "is still open, and its run has ended")
    elif record.status in ("approved", "rejected"):
        last = _complete_at(facts, approval)
        agree(approval.name, "its last vote", **{"the moment of its end": (end.at, last)})
    elif record.kind in UNTIL_KNOWN:
        if record.kind != "in_doubt" or record.status != "canceled" or not _has_come(facts, approval):
            raise broken_leaf(end, f"approval {record.id} was {record.status}, and nobody had answered")
    elif record.status == "expired":
        until = facts.until(record.id, record.expires_at, end)
        if end.at < until:
            raise broken_leaf(end, f"approval {record.id} cannot expire before {until}")
    elif not _was_called_off(facts, approval, end):
        raise broken_leaf(end, f"approval {record.id} was canceled, and its step had not ended")


def _has_come(facts: Facts, approval: Requested) -> bool:
    """Return whether its step had its answer while it was open."""
    return any(approval.is_open_at(leaf) for leaf in facts.answers.get(approval.record.step, ()))


def _was_called_off(facts: Facts, approval: Requested, end: Leaf) -> bool:
    of_step = facts.of_steps.get(approval.record.step, ())
    following = facts.leaves[end.seq] if end.seq < len(facts.leaves) else end
    is_edited = following.event == EFFECT_EDITED and following.correlation.approval_id == approval.record.id
    return is_edited or any(leaf.event in (*OVER, STOPPED) and leaf.seq < end.seq for leaf in of_step)


@rule(
    "approvals.told",
    "Policy was told of an approval where it was told of votes, and of none else: of an approved one of the same effect"
    " and digest, granted before, with its `requested_at`, `expires_at`, as it was moved, and the moment of each vote;"
    " and with `usable_until`, `within` after the last of these, if and only if its requirement says when (`execute`).",
)
def _told(facts: Facts) -> str:
    told = 0
    for decision in facts.decisions:
        asked = decision.record.input
        if asked.approval is None and not asked.votes:
            continue
        told += 1
        about = facts.approvals_about.get(decision.record.effect_id, ())
        if not any(_is_told(facts, decision, approval) for approval in about):
            raise BrokenError(decision.name, "policy was told of an approval that is not in the bundle as it was told")
    return counted(told, "decision")


def _is_told(facts: Facts, decision: Decided, approval: Requested) -> bool:
    record, asked = approval.record, decision.record.input
    if asked.approval is None or approval.end is None or approval.end.seq > decision.leaf.seq:
        return False
    until = facts.until(record.id, record.expires_at, decision.leaf)
    usable_until = _usable_until(facts, approval, decision.leaf) if record.requirement.execute else ""
    told = (record.kind, record.status, record.digest, record.requested_at, until, usable_until)
    return told == (
        "effect",
        "approved",
        asked.effect.digest,
        asked.approval.requested_at,
        asked.approval.expires_at,
        asked.approval.usable_until,
    ) and _told_votes([vote.record for vote in approval.standing]) == _told_votes(asked.votes)


def _told_votes(votes: Sequence[VoteForm | ToldVote]) -> list[bytes]:
    """Return votes in one order: moment, if it is signed and from the console, by whose leave, and break-glass."""
    return sorted(
        canonical.dumps(
            [
                *(vote.person, vote.verdict, vote.at, vote.is_signed, vote.is_from_console),
                [leave.delegator, leave.recorded_by] if leave else None,
                [break_glass.ticket, break_glass.nth] if break_glass else None,
            ]
        )
        for vote in votes
        for leave, break_glass in [(vote.delegation, vote.break_glass)]
    )


RULES: tuple[Rule[Facts], ...] = (_told, _used_once, _ended)
