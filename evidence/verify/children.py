"""The rule about runs that steps of this one have started and wait for: each is named as it ended.

Such a run has a bundle of its own, which is sealed later. So it is named by its id and by the hash of the leaf with
which it ended: that binds all of its leaves before, so no other run, and no other course of this one, has it.
"""

from evidence.records import Open
from evidence.verify.comparing import broken, data
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule, counted, rule
from receipts.chain import WAIT_ENDED, Leaf
from receipts.fields import NonEmpty, Sha256Hex
from receipts.piecewise import member

CHILD_RUN = "child_run"
_NAMES = ("child", "child_end")


class ChildEnded(Open):
    """What the data of a `wait.completed` say of the run for whose end the step waited."""

    child: NonEmpty
    child_end: Sha256Hex


@rule(
    "waits.children",
    "A `wait.completed` of type `child_run` names the run that has ended (`child`), and the hash of the leaf with which"
    " it did (`child_end`); no other leaf about the end of a wait does. It is a run that the step started: where"
    " receipts of the step say `success` before, the `response` of one names it (`run_id`).",
)
def _children(facts: Facts) -> str:
    ended = 0
    for leaf in facts.leaves:
        if leaf.event == "wait.completed" and leaf.data.get("type") == CHILD_RUN:
            _check_started(facts, leaf, data(ChildEnded, leaf).child)
            ended += 1
        elif leaf.event in WAIT_ENDED and any(name in leaf.data for name in _NAMES):
            raise broken(leaf, f"step {leaf.correlation.step} did not wait for another run, and one is named")
    return counted(ended, "run")


def _check_started(facts: Facts, leaf: Leaf, child: str) -> None:
    started = [
        member(one.record.response, "run_id")
        for one in facts.receipts
        if one.record.step == leaf.correlation.step and one.record.outcome == "success" and one.leaf.seq < leaf.seq
    ]
    if started and child not in started:
        raise broken(leaf, f"step {leaf.correlation.step} did not start the run {child}")


RULES: tuple[Rule[Facts], ...] = (_children,)
