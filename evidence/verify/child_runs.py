"""Child runs: those that steps of this run have started and wait for. Each is named as it ended.

Such a run has a bundle of its own, which is sealed later. So it is named by its id and by the hash of the leaf with
which it ended: that binds all of its leaves before, so no other run, and no other course of this one, has it. How a run
ended, its own bundle tells to that of a run which waited for it, or undoes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evidence.records import Extensible
from evidence.verify.contents import Contents
from evidence.verify.facts import Facts
from evidence.verify.rules import Rule, broken_leaf, counted, data_of, rule
from receipts.chain import RECEIPT_WRITTEN, RUN_ENDED, WAIT_ENDED, Leaf
from receipts.fields import NonEmpty, Sha256Hex
from receipts.piecewise import member

CHILD_RUN = "child_run"
_NAMES = ("child", "child_end")


class ChildEnded(Extensible):
    """What the data of a `wait.completed` say of the run for whose end the step waited."""

    child: NonEmpty
    child_end: Sha256Hex


@rule(
    "waits.children",
    "A `wait.completed` of type `child_run` names the run that has ended (`child`), and the hash of the leaf with which"
    " it did (`child_end`); no other leaf about the end of a wait does. It is a run that the step started: where"
    " receipts of the step say `success` before, the `response` of one names it (`run_id`).",
)
def _child_runs(facts: Facts) -> str:
    ended = 0
    for leaf in facts.leaves:
        if leaf.event == "wait.completed" and leaf.data.get("type") == CHILD_RUN:
            _check_started(facts, leaf, data_of(ChildEnded, leaf).child)
            ended += 1
        elif leaf.event in WAIT_ENDED and any(name in leaf.data for name in _NAMES):
            raise broken_leaf(leaf, f"step {leaf.correlation.step} did not wait for another run, and one is named")
    return counted(ended, "run")


def _check_started(facts: Facts, leaf: Leaf, child: str) -> None:
    started = [
        member(one.record.response, "run_id")
        for one in facts.receipts_of_steps.get(leaf.correlation.step, ())
        if one.record.outcome == "success" and one.leaf.seq < leaf.seq
    ]
    if started and child not in started:
        raise broken_leaf(leaf, f"step {leaf.correlation.step} did not start the run {child}")


RULES: tuple[Rule[Facts], ...] = (_child_runs,)


@dataclass(frozen=True)
class EndedRun:
    """A run, the hash of the leaf with which it ended, and the run and step that started it, where some did.

    `receipts` are the digests of those that say `success`, by their ids.
    """

    run_id: str
    end: str
    succeeded: bool
    started_by: tuple[str, str] | None
    tenant: str
    receipts: Mapping[str, str]


def ended_run(contents: Contents) -> EndedRun:
    """Return how the run of a bundle that holds ended."""
    end = next(leaf for leaf in reversed(contents.leaves) if leaf.event in RUN_ENDED)
    done = {receipt.receipt_id for receipt in contents.receipts.values() if receipt.outcome == "success"}
    written = {str(leaf.data["receipt_id"]): str(leaf.data["digest"]) for leaf in contents.leaves_of(RECEIPT_WRITTEN)}
    return EndedRun(
        run_id=contents.run.run_id,
        end=end.hash,
        succeeded=end.event == "run.succeeded",
        started_by=_started_by(contents.leaves[0].data),
        tenant=contents.run.tenant,
        receipts={receipt_id: digest for receipt_id, digest in written.items() if receipt_id in done},
    )


def _started_by(data: dict[str, Any]) -> tuple[str, str] | None:
    parent = data.get("parent")
    return (str(parent.get("run_id")), str(parent.get("step"))) if isinstance(parent, dict) else None
