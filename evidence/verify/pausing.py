"""How long the clock of an approval stands still while questions are open, as the leaves tell of them."""

from datetime import timedelta

from evidence.verify.comparing import lasts, moment
from evidence.verify.facts import Facts, Requested
from evidence.verify.forms import QuestionOfForm
from receipts.chain import QUESTION_ANSWERED, QUESTION_ASKED, Leaf
from receipts.fields import timestamp

_NONE = timedelta(0)


def deadline_after(facts: Facts, approval: Requested, leaf: Leaf) -> str:
    """Return the deadline that the leaf of a question, or of an answer, has to tell; "" where it moves none."""
    pause = approval.record.requirement.pause_on_question
    if pause is None:
        return ""
    longest = lasts(pause, approval.name)
    by = _paused(facts, approval, longest, leaf.seq) - _paused(facts, approval, longest, leaf.seq - 1)
    before = facts.until(approval.record.id, approval.record.expires_at, leaf)
    return timestamp(moment(before) + by) if by else ""


def _paused(facts: Facts, approval: Requested, longest: timedelta, seq: int) -> timedelta:
    """Return by how much the deadline is later, as the leaves up to one tell; while a question is open, the longest."""
    lasted, end = _NONE, moment(approval.record.requested_at)
    for question, is_answered in _told(facts, approval, seq):
        if question.answer is None or not is_answered:
            return longest
        start, answered = max(moment(question.at), end), moment(question.answer.at)
        lasted, end = lasted + max(answered - start, _NONE), max(answered, end)
    return min(lasted, longest)


def _told(facts: Facts, approval: Requested, seq: int) -> list[tuple[QuestionOfForm, bool]]:
    """Return the questions that leaves up to one tell of, in their order, each with whether its answer is told."""
    events: dict[str, set[str]] = {}
    for leaf in facts.leaves[:seq]:
        if leaf.event in (QUESTION_ASKED, QUESTION_ANSWERED) and leaf.data.get("approval_id") == approval.record.id:
            events.setdefault(str(leaf.data.get("question_id")), set()).add(leaf.event)
    found = [one for one in approval.record.questions if one.id in events]
    return [(one, QUESTION_ANSWERED in events[one.id]) for one in sorted(found, key=lambda one: (one.at, one.id))]
