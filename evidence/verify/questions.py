"""Questions to whoever asked: each is on record with its answer, by whom, and while it could matter.

The clock of an approval stands still while questions about it are open.
"""

from datetime import timedelta

from evidence import names
from evidence.verify.approvals import UNTIL_KNOWN
from evidence.verify.contents import BrokenError
from evidence.verify.facts import Facts, Requested
from evidence.verify.forms import QuestionLeaf, QuestionOfForm, ReplyForm
from evidence.verify.request_actions import is_decidable, who_may_not
from evidence.verify.rules import Rule, broken_leaf, counted, data_of, duration_of, moment, rule
from evidence.verify.votes import REASON_MIN
from receipts import canonical
from receipts.chain import QUESTION_ANSWERED, QUESTION_ASKED, Leaf
from receipts.fields import timestamp

_NONE = timedelta(0)


def deadline_after(facts: Facts, approval: Requested, leaf: Leaf) -> str:
    """Return the deadline that the leaf of a question, or of an answer, has to tell; "" where it moves none."""
    pause = approval.record.requirement.pause_on_question
    if pause is None:
        return ""
    longest = duration_of(pause, approval.name)
    by = _paused(facts, approval, longest, leaf.seq) - _paused(facts, approval, longest, leaf.seq - 1)
    before = facts.until(approval.record.id, approval.record.expires_at, leaf)
    return timestamp(moment(before) + by) if by else ""


def _paused(facts: Facts, approval: Requested, longest: timedelta, seq: int) -> timedelta:
    """Return by how much the deadline is later, as the leaves up to one tell; while a question is open, the longest."""
    lasted, end = _NONE, moment(approval.record.requested_at)
    for question, is_answered in _told_questions(facts, approval, seq):
        if question.answer is None or not is_answered:
            return longest
        start, answered = max(moment(question.at), end), moment(question.answer.at)
        lasted, end = lasted + max(answered - start, _NONE), max(answered, end)
    return min(lasted, longest)


def _told_questions(facts: Facts, approval: Requested, seq: int) -> list[tuple[QuestionOfForm, bool]]:
    """Return the questions that leaves up to one tell of, in their order, each with whether its answer is told."""
    events: dict[str, set[str]] = {}
    for place, event, question in facts.questions.get(approval.record.id, ()):
        if place <= seq:
            events.setdefault(question, set()).add(event)
    found = [one for one in approval.record.questions if one.id in events]
    return [(one, QUESTION_ANSWERED in events[one.id]) for one in sorted(found, key=lambda one: (one.at, one.id))]


_Part = tuple[str, str, str]
"""An approval, a question about it, and the event that tells of that, or of its answer."""


@rule(
    "questions.told",
    "A `question.asked` is by its `person`, a `question.answered` by the requester or submitter of the run, or by"
    " another person than who asked, whose answer has as its `group` the `questions_to` of the definition; both name by"
    " its id and `digest` one of the `questions` of an approval of kind `effect` or `task` that was open, or its"
    " answer, and have its `at`. Each of them is told once, the answer after the question. No two of an approval have"
    " one id. Where the requirement has `pause_on_question`, the time of an approval stands still while a question is"
    " open, for as long as that in all: the leaf with which the first is put has the `deadline` of the approval and its"
    " wait as it is if that is used up, the one with which the last open one is answered has it as it is by what was"
    " used. None else has one.",
)
def _told(facts: Facts) -> str:
    untold = _parts(facts)
    found = len(untold)
    for approval in facts.approvals.values():
        if len({question.id for question in approval.record.questions}) < len(approval.record.questions):
            raise BrokenError(approval.name, "has two questions of one id")
    for leaf in facts.leaves:
        if leaf.event in (QUESTION_ASKED, QUESTION_ANSWERED):
            said = data_of(QuestionLeaf, leaf)
            _check(facts, leaf, said)
            part, first = ((said.approval_id, said.question_id, event) for event in (leaf.event, QUESTION_ASKED))
            if part not in untold or (part != first and first in untold):
                raise broken_leaf(leaf, f"question {said.question_id} was not asked, or is told twice")
            untold.discard(part)
    if untold:
        approval_id, question_id, event = min(untold)
        raise BrokenError(names.approval(approval_id), f"no line of {names.AUDIT} is the {event} of {question_id}")
    return counted(found, "question or answer", "questions and answers")


def _parts(facts: Facts) -> set[_Part]:
    return {
        (approval.record.id, question.id, event)
        for approval in facts.approvals.values()
        for question in approval.record.questions
        for event in (QUESTION_ASKED, *((QUESTION_ANSWERED,) if question.answer else ()))
    }


def _check(facts: Facts, leaf: Leaf, said: QuestionLeaf) -> None:
    approval = facts.approvals.get(said.approval_id)
    if approval is None or approval.record.kind in UNTIL_KNOWN or not approval.is_open_at(leaf):
        raise broken_leaf(leaf, "is not about an approval that was open, and takes questions")
    question = _question(leaf, approval, said)
    if leaf.event == QUESTION_ASKED:
        _agree(leaf, question.model_dump(exclude={"answer"}), said.digest, question.at)
        _by(leaf, said.person, "person")
    else:
        _check_answer(facts, leaf, said, question)
    if said.deadline != (wanted := deadline_after(facts, approval, leaf)):
        raise broken_leaf(
            leaf, f"has the deadline {said.deadline or 'of nothing'}, and it is {wanted or 'not moved'} by it"
        )


def _check_answer(facts: Facts, leaf: Leaf, said: QuestionLeaf, question: QuestionOfForm) -> None:
    answer = question.answer
    if answer is None:
        raise broken_leaf(leaf, f"question {question.id} has no answer")
    _agree(leaf, answer.model_dump(), said.digest, answer.at)
    _by(leaf, answer.by, answer.kind)
    if not _may_answer(facts, question.person, answer):
        raise broken_leaf(leaf, f"{answer.by} answered, who had not asked for it")


def _may_answer(facts: Facts, asked_by: str, answer: ReplyForm) -> bool:
    """Return whether who answered wanted the run, or did it for the group for questions and had not asked."""
    if answer.by in (facts.contents.run.requested_by, facts.contents.run.submitted_by):
        return True
    is_for_group = answer.group is not None and answer.group == facts.definition.questions_to
    return is_for_group and answer.kind == "person" and answer.by != asked_by


def _question(leaf: Leaf, approval: Requested, said: QuestionLeaf) -> QuestionOfForm:
    found = [one for one in approval.record.questions if (one.id, one.person) == (said.question_id, said.person)]
    if len(found) != 1:
        raise broken_leaf(leaf, f"approval {approval.record.id} has no question {said.question_id} of {said.person}")
    return found[0]


def _agree(leaf: Leaf, document: object, digest: str, at: str) -> None:
    if canonical.digest(document) != digest or leaf.at != at:
        raise broken_leaf(leaf, "is not what the approval has of it")


def _by(leaf: Leaf, who: str, kind: str) -> None:
    if (leaf.actor.id, leaf.actor.kind) != (who, kind):
        raise broken_leaf(leaf, f"is by {leaf.actor.id}, and {who} said it")


@rule(
    "questions.asked",
    "Who asks a question might decide the approval, as far as `approvals.handed` says who may; they ask one at a time,"
    " and ask the next once that is answered. Question and answer have three characters or more, and come before the"
    " approval has expired.",
)
def _asked(facts: Facts) -> str:
    unanswered = set[tuple[str, str]]()
    found = 0
    for leaf in facts.leaves:
        if leaf.event in (QUESTION_ASKED, QUESTION_ANSWERED):
            said = data_of(QuestionLeaf, leaf)
            approval, whose = facts.approvals[said.approval_id], (said.approval_id, said.person)
            _check_words(facts, approval, leaf, said)
            if leaf.event == QUESTION_ANSWERED:
                unanswered.remove(whose)
            elif whose in unanswered or said.person in who_may_not(facts, approval, leaf):
                raise broken_leaf(leaf, f"{said.person} could not ask this")
            else:
                unanswered.add(whose)
            found += 1
    return counted(found, "question or answer", "questions and answers")


def _check_words(facts: Facts, approval: Requested, leaf: Leaf, said: QuestionLeaf) -> None:
    question = _question(leaf, approval, said)
    answer = question.answer.text if question.answer else ""
    words = question.question if leaf.event == QUESTION_ASKED else answer
    if len(words.strip()) < REASON_MIN:
        raise broken_leaf(leaf, "says nothing")
    if not is_decidable(facts, approval, leaf):
        raise broken_leaf(leaf, f"came when approval {approval.record.id} had expired")


RULES: tuple[Rule[Facts], ...] = (_told, _asked)
