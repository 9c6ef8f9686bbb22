"""Waits: each is one that its step or approval opens, and ends in its time.

Progress may be told while something is waited for, and ends nothing.
"""

from collections.abc import Iterator

from evidence import names
from evidence.open_waits import OpenWaits
from evidence.verify.facts import Facts
from evidence.verify.forms import Opened, Progressed
from evidence.verify.rules import Rule, agree, broken_leaf, counted, data_of, duration_of, moment, rule
from receipts.chain import WAIT_ENDED, WAIT_OPENED, Leaf
from receipts.fields import timestamp


@rule(
    "waits.as-told",
    "A wait of type `approval` is that of an approval of kind `effect`, with its deadline; any other is what the"
    " step's verb waits for (`execution.wait`), and one for a `human_task` is that of a review, with its deadline. The"
    " deadline of one for another program, or for another run, is away by the `timeout` of the step, or else of its"
    " verb, unless the step says `until`. A wait names no approval else. A step that waits by itself (`wait`) does so"
    " for a `signal` where it names one, else for a `timer`; the deadline is its `timeout` or `for` away, where that is"
    " no expression.",
)
def _as_told(facts: Facts) -> str:
    for leaf, wait in facts.waits:
        awaited, lasting = _awaited(facts, leaf)
        kind = {"approval": "effect", "human_task": "task"}.get(wait.kind)
        if wait.kind not in ("approval", awaited):
            raise broken_leaf(leaf, f"step {leaf.correlation.step} does not wait for {wait.kind}")
        approval = facts.approvals.get(str(leaf.correlation.approval_id))
        there = f"what step {leaf.correlation.step} waits for"
        agree(f"{names.AUDIT} line {leaf.seq}", there, approval=(approval and approval.record.kind, kind))
        if approval is not None:
            agree(f"{names.AUDIT} line {leaf.seq}", there, deadline=(wait.deadline, approval.record.expires_at))
        elif lasting is not None:
            until = moment(leaf.at) + duration_of(lasting, names.DEFINITION)
            agree(f"{names.AUDIT} line {leaf.seq}", there, deadline=(wait.deadline, timestamp(until)))
    return counted(len(facts.waits), "wait")


def _awaited(facts: Facts, leaf: Leaf) -> tuple[str | None, str | None]:
    """Return for what the step of a leaf waits beside approval, and for how long; None where that is not said."""
    path = str(leaf.correlation.step)
    step = facts.plan.node(path) if leaf.correlation.step else None
    if step is None or step.wait is None:
        execution = facts.verb(leaf, path).execution
        is_timed = execution.wait in ("external", "child_run") and (step is None or step.until is None)
        return execution.wait, execution.timeout if is_timed else None
    wait = step.wait
    lasting = wait.timeout if wait.signal is not None else wait.for_
    return "timer" if wait.signal is None else "signal", None if lasting is None or "${" in lasting else lasting


@rule(
    "waits.one-at-a-time",
    "A step has one wait for approval at a time, and beside it one for what its verb waits for; no two waits have one"
    " id.",
)
def _one_at_a_time(facts: Facts) -> str:
    seen = set[str]()
    for leaf, active in with_open(facts):
        if leaf.event == WAIT_OPENED:
            wait = data_of(Opened, leaf)
            if wait_at(active, leaf) or wait.wait_id in seen:
                raise broken_leaf(
                    leaf, f"step {leaf.correlation.step} waits already, or another wait is {wait.wait_id}"
                )
            seen.add(wait.wait_id)
    return counted(len(seen), "wait")


def wait_at(active: OpenWaits[Opened], leaf: Leaf, *, approval: bool | None = None) -> tuple[Leaf, Opened] | None:
    """Return the open wait of the step of a leaf: that for approval, or else the other; as the leaf says, if None."""
    of_approval = leaf.data.get("type") == "approval" if approval is None else approval
    found = active.of_step(leaf.correlation.step)
    return next((one for one in reversed(found) if (one[1].kind == "approval") == of_approval), None)


def with_open(facts: Facts) -> Iterator[tuple[Leaf, OpenWaits[Opened]]]:
    """Give each leaf, with the waits that were open before it."""
    active = OpenWaits[Opened]()
    for leaf in facts.leaves:
        yield leaf, active
        active.take(leaf)
        if leaf.event == WAIT_OPENED:
            active.add(leaf, data_of(Opened, leaf))


@rule(
    "waits.ended",
    "What ended by a `wait.completed` or `wait.timed_out` is an open wait of that step and type, and no approval's. One"
    " timed out, and a timer is over, no earlier than at its deadline, as it was moved.",
)
def _ended(facts: Facts) -> str:
    ended = 0
    for leaf, active in with_open(facts):
        if leaf.event in WAIT_ENDED:
            _check_ended(facts, leaf, wait_at(active, leaf))
            ended += 1
    return counted(ended, "wait")


def _check_ended(facts: Facts, leaf: Leaf, opened: tuple[Leaf, Opened] | None) -> None:
    if opened is None or opened[0].correlation.approval_id is not None:
        raise broken_leaf(leaf, f"step {leaf.correlation.step} did not wait for this")
    wait = opened[1]
    agree(
        f"{names.AUDIT} line {leaf.seq}",
        f"line {opened[0].seq}",
        wait_id=(leaf.data.get("wait_id"), wait.wait_id),
        type=(leaf.data.get("type"), wait.kind),
    )
    is_by_clock = leaf.event == "wait.timed_out" or wait.kind == "timer"
    deadline = facts.until(wait.wait_id, wait.deadline, leaf)
    if is_by_clock and leaf.at < deadline:
        raise broken_leaf(leaf, f"{leaf.event} of {wait.wait_id}, whose deadline is {deadline}")


RULES: tuple[Rule[Facts], ...] = (_as_told, _one_at_a_time, _ended)


_PROGRESSED = "wait.progress"


@rule(
    "waits.progress",
    "A `wait.progress` is of an open wait of its step, and of no wait for approval; its `count` rises with each about"
    " one wait.",
)
def _progress(facts: Facts) -> str:
    counts, told = dict[str, int](), 0
    for leaf, active in with_open(facts):
        if leaf.event == _PROGRESSED:
            word, opened = data_of(Progressed, leaf), wait_at(active, leaf, approval=False)
            if opened is None or opened[1].wait_id != word.wait_id:
                raise broken_leaf(leaf, f"step {leaf.correlation.step} did not wait for this")
            if word.count <= counts.get(word.wait_id, 0):
                raise broken_leaf(
                    leaf, f"is the word number {word.count} for {word.wait_id}, and there was a later one before"
                )
            counts[word.wait_id] = word.count
            told += 1
    return counted(told, "word")


PROGRESS: tuple[Rule[Facts], ...] = (_progress,)
