"""Rules about waits: each is one that its step or approval opens, and ends or is escalated in its time."""

from collections.abc import Iterator
from datetime import timedelta

from evidence import names
from evidence.told import ends_wait
from evidence.verify.material.comparing import agree, broken, data, lasts, moment
from evidence.verify.material.facts import Facts
from evidence.verify.material.forms import Opened, VerbForm
from evidence.verify.rules import Rule, counted, rule
from receipts.chain import WAIT_ENDED, WAIT_OPENED, Leaf
from receipts.fields import timestamp

Place = tuple[str | None, bool]
"""A step, and whether it waits for approval: in each, one wait at a time."""

_ESCALATED = "wait.escalated"
_PART = 0.75
"""The part of an approval's time after which those next in line are asked."""


@rule(
    "waits.as-told",
    "A wait of type `approval` is that of an approval of kind `effect`, with its deadline; any other is what the step's"
    " verb waits for (`execution.wait`), and one for a `human_task` is that of a review, with its deadline. The"
    " deadline of one for another program is the verb's `timeout` away. A wait names no approval else.",
)
def _as_told(facts: Facts) -> str:
    for leaf, wait in facts.waits:
        verb = facts.verb(leaf, str(leaf.correlation.step))
        kind = {"approval": "effect", "human_task": "task"}.get(wait.kind)
        if wait.kind not in ("approval", verb.execution.wait):
            raise broken(leaf, f"step {leaf.correlation.step} does not wait for {wait.kind}")
        approval = facts.approvals.get(str(leaf.correlation.approval_id))
        there = f"what step {leaf.correlation.step} waits for"
        agree(f"{names.AUDIT} line {leaf.seq}", there, approval=(approval and approval.record.kind, kind))
        if approval is not None:
            agree(f"{names.AUDIT} line {leaf.seq}", there, deadline=(wait.deadline, approval.record.expires_at))
        elif wait.kind == "external":
            until = moment(leaf.at) + lasts(verb.execution.timeout, names.DEFINITION)
            agree(f"{names.AUDIT} line {leaf.seq}", there, deadline=(wait.deadline, timestamp(until)))
    return counted(len(facts.waits), "wait")


@rule(
    "waits.one-at-a-time",
    "A step has one wait for approval at a time, and beside it one for what its verb waits for; no two waits have one"
    " id.",
)
def _one_at_a_time(facts: Facts) -> str:
    seen = set[str]()
    for leaf, active in with_open(facts):
        if leaf.event == WAIT_OPENED:
            wait = data(Opened, leaf)
            if place_of(leaf, wait) in active or wait.wait_id in seen:
                raise broken(leaf, f"step {leaf.correlation.step} waits already, or another wait is {wait.wait_id}")
            seen.add(wait.wait_id)
    return counted(len(seen), "wait")


def place_of(leaf: Leaf, wait: Opened | None) -> Place:
    """Return the place of a wait, or of the one that another leaf is about."""
    kind = leaf.data.get("type") if wait is None else wait.kind
    return leaf.correlation.step, kind == "approval"


def with_open(facts: Facts) -> Iterator[tuple[Leaf, dict[Place, tuple[Leaf, Opened]]]]:
    """Give each leaf, with the waits that were open before it by their places."""
    active = dict[Place, tuple[Leaf, Opened]]()
    for leaf in facts.leaves:
        yield leaf, active
        if active:
            active = {place: opened for place, opened in active.items() if not ends_wait(opened[0], leaf)}
        if leaf.event == WAIT_OPENED:
            wait = data(Opened, leaf)
            active[place_of(leaf, wait)] = leaf, wait


@rule(
    "waits.ended",
    "What ended by a `wait.completed` or `wait.timed_out` is an open wait of that step and type, and no approval's. One"
    " timed out, and a timer is over, no earlier than at its deadline.",
)
def _ended(facts: Facts) -> str:
    ended = 0
    for leaf, active in with_open(facts):
        if leaf.event in WAIT_ENDED:
            _check_ended(leaf, active.get(place_of(leaf, None)))
            ended += 1
    return counted(ended, "wait")


def _check_ended(leaf: Leaf, opened: tuple[Leaf, Opened] | None) -> None:
    if opened is None or opened[0].correlation.approval_id is not None:
        raise broken(leaf, f"step {leaf.correlation.step} did not wait for this")
    wait = opened[1]
    agree(
        f"{names.AUDIT} line {leaf.seq}",
        f"line {opened[0].seq}",
        wait_id=(leaf.data.get("wait_id"), wait.wait_id),
        type=(leaf.data.get("type"), wait.kind),
    )
    is_by_clock = leaf.event == "wait.timed_out" or wait.kind == "timer"
    if is_by_clock and leaf.at < wait.deadline:
        raise broken(leaf, f"{leaf.event} of {wait.wait_id}, whose deadline is {wait.deadline}")


@rule(
    "waits.escalated",
    "A `wait.escalated` is of an open wait of its step and approval, once, and asks those next in line: `escalate_to`"
    " of the approval of an effect, after three quarters of its time; else those of the verb's `escalation`, `after`"
    " that time.",
)
def _escalated(facts: Facts) -> str:
    escalated = set[str]()
    for leaf, active in with_open(facts):
        if leaf.event == _ESCALATED:
            opened = active.get(place_of(leaf, None))
            if opened is None or opened[1].wait_id in escalated:
                raise broken(leaf, f"step {leaf.correlation.step} does not wait, or was escalated before")
            _check_escalated(facts, leaf, *opened)
            escalated.add(opened[1].wait_id)
    return counted(len(escalated), "wait")


def _check_escalated(facts: Facts, leaf: Leaf, opened: Leaf, wait: Opened) -> None:
    after, to = _escalation(facts, opened, wait, facts.verb(opened, str(opened.correlation.step)))
    agree(
        f"{names.AUDIT} line {leaf.seq}",
        "what was asked",
        approval=(leaf.correlation.approval_id, opened.correlation.approval_id),
        type=(leaf.data.get("type"), wait.kind),
        to=(leaf.data.get("to"), to),
    )
    if moment(leaf.at) < moment(opened.at) + after:
        raise broken(leaf, f"those next in line were asked sooner than {after} after line {opened.seq}")


def _escalation(facts: Facts, opened: Leaf, wait: Opened, verb: VerbForm) -> tuple[timedelta, list[str]]:
    """Return after how long those next in line are asked, and who they are; nobody where there are none."""
    if wait.kind == "approval":
        approval = facts.approvals[str(opened.correlation.approval_id)].record
        return (moment(wait.deadline) - moment(opened.at)) * _PART, approval.requirement.escalate_to
    escalation = verb.execution.escalation
    return (lasts(escalation.after, names.DEFINITION), escalation.to) if escalation else (timedelta(0), [])


RULES: tuple[Rule[Facts], ...] = (_as_told, _one_at_a_time, _ended, _escalated)
