"""The rule about escalations: each is an entry that comes next, in its time, and does what that entry says."""

from dataclasses import dataclass
from datetime import timedelta

from evidence import names
from evidence.verify.facts import Facts, Requested
from evidence.verify.forms import Escalated, Opened
from evidence.verify.rules import Rule, agree, broken_leaf, counted, data_of, duration_of, moment, rule
from evidence.verify.waits import wait_at, with_open
from receipts.chain import WAIT_ESCALATED, Leaf
from receipts.fields import timestamp

_IN_VAIN = ("wait.timed_out", "approval.expired")


@dataclass(frozen=True)
class _Entry:
    """After how long whom is asked, for how much longer, and which runbook is started."""

    after: timedelta
    to: list[str]
    extend: timedelta | None
    start: str | None


@rule(
    "waits.escalated",
    "A `wait.escalated` is of an open wait of its step and approval, and of the entry after the one before. For the"
    " approval of an effect they are those of its requirement's `escalate_to`. Of any other wait they are those of"
    " the step's `escalation`, or else of its verb's. It asks whom its entry asks (`to`), `after` that time at the"
    " earliest, and later by what questions have moved the deadline of an approval. Where the entry has `extend`, the"
    " new `deadline` is later by that than the one before, or than the leaf; where it has `start`, `started` names"
    " that runbook with the run or why there is none. A wait that nobody ended in time (`wait.timed_out`,"
    " `approval.expired`) had every entry whose time was not behind its deadline.",
)
def _escalated(facts: Facts) -> str:
    done: dict[str, int] = {}
    for leaf, active in with_open(facts):
        if leaf.event in _IN_VAIN:
            for opened_by, wait in active.ended_by(leaf):
                _check_all(facts, leaf, done.get(wait.wait_id, 0), opened_by, wait)
        if leaf.event == WAIT_ESCALATED:
            told, opened = data_of(Escalated, leaf), wait_at(active, leaf)
            if opened is None or opened[1].wait_id != told.wait_id:
                raise broken_leaf(leaf, f"step {leaf.correlation.step} does not wait as {told.wait_id}")
            if told.entry != done.get(told.wait_id, 0):
                raise broken_leaf(leaf, f"entry {told.entry} is not the next of {told.wait_id}")
            done[told.wait_id] = told.entry + 1
            _check(facts, leaf, told, *opened)
    return counted(sum(done.values()), "escalation")


def _check_all(facts: Facts, leaf: Leaf, done: int, opened: Leaf, wait: Opened) -> None:
    """Look for the entries that had to come before a wait ended in vain."""
    until = moment(facts.until(wait.wait_id, wait.deadline, leaf)) - _stood(facts, leaf, wait)
    missing = [entry for entry in _entries(facts, opened, wait)[done:] if moment(opened.at) + entry.after <= until]
    if missing:
        raise broken_leaf(leaf, f"{wait.wait_id} ended, and entry {done}, whose time had come, is not told")


def _check(facts: Facts, leaf: Leaf, told: Escalated, opened: Leaf, wait: Opened) -> None:
    entries = _entries(facts, opened, wait)
    if told.entry >= len(entries):
        raise broken_leaf(leaf, f"there is no entry {told.entry} for {wait.wait_id}")
    entry = entries[told.entry]
    agree(
        f"{names.AUDIT} line {leaf.seq}",
        "what was asked",
        approval=(leaf.correlation.approval_id, opened.correlation.approval_id),
        type=(leaf.data.get("type"), wait.kind),
        to=(told.to, entry.to),
        deadline=(told.deadline, _deadline(facts, leaf, wait, entry)),
        started=(told.started and told.started.runbook, entry.start),
    )
    if told.started and bool(told.started.run_id) == bool(told.started.error):
        raise broken_leaf(leaf, f"{told.started.runbook} was started, or was not: it says both or neither")
    if moment(leaf.at) < moment(opened.at) + entry.after + _stood(facts, leaf, wait):
        raise broken_leaf(leaf, f"those next in line were asked sooner than {entry.after} after line {opened.seq}")


def _stood(facts: Facts, leaf: Leaf, wait: Opened) -> timedelta:
    """Return how long the clock stood still before a leaf: nothing else moves the deadline of an effect's approval."""
    if wait.kind != "approval":
        return timedelta(0)
    return moment(facts.until(wait.wait_id, wait.deadline, leaf)) - moment(wait.deadline)


def _deadline(facts: Facts, leaf: Leaf, wait: Opened, entry: _Entry) -> str:
    if entry.extend is None:
        return ""
    before = facts.until(wait.wait_id, wait.deadline, leaf)
    return timestamp(moment(max(before, leaf.at)) + entry.extend)


def _entries(facts: Facts, opened: Leaf, wait: Opened) -> list[_Entry]:
    if wait.kind == "approval":
        return _of_approval(facts.approvals[str(opened.correlation.approval_id)])
    verb = facts.plan.verb(str(opened.correlation.step))
    return [
        _Entry(
            after=duration_of(entry.after, names.DEFINITION),
            to=list(entry.to),
            extend=duration_of(entry.extend, names.DEFINITION) if entry.extend else None,
            start=entry.start,
        )
        for entry in (verb.execution.entries if verb else [])  # a step that waits by itself has none
    ]


def _of_approval(approval: Requested) -> list[_Entry]:
    said = approval.record.requirement.escalate_to
    return [_Entry(duration_of(entry.after, approval.name), entry.to, None, None) for entry in said]


RULES: tuple[Rule[Facts], ...] = (_escalated,)
