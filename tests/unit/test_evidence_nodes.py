"""What the planner does, the verifier takes: runs of random runbooks, played in any order, keep its rules for steps."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import names
from evidence.statement import Statement
from evidence.verify import chain, control_flow, runs, step_repairs, steps
from evidence.verify.approvals import OVER
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.trust import Trust
from receipts import canonical
from receipts.chain import GENESIS, PROGRAM, REPAIR_DECIDED, Actor, Correlation, Head, Leaf, next_leaf
from runtime.definitions.canonical import definition_document
from runtime.definitions.model import Definition
from runtime.model.action import commitment
from runtime.model.run import RepairAction
from runtime.model.states import RUN, is_final
from runtime.model.steps import ErrorCode
from runtime.planning.planner import plan
from runtime.planning.replay import SAID, step_facts
from runtime.planning.run_endings import ending_of
from runtime.planning.transition import Canceled, Event, Snapshot, StepMoved, StepRepaired, Transition
from tests.unit.test_planner_trees import after, play, trees

RULES = (
    *chain.LEAVES,
    *steps.RULES,
    *control_flow.BLOCKS,
    *steps.ERRORS,
    *control_flow.BRANCHES,
    *step_repairs.RULES,
    *runs.MOVES[1:],
    *runs.OUTCOME[:1],
)
ROOT = Path(__file__).parents[2]
Played = tuple[Snapshot, Event, Transition]


class Record:
    """The chain of a run, as the runtime writes it of what was planned."""

    def __init__(self, tree: Definition) -> None:
        self.tree = tree
        self.at = datetime(2026, 1, 5, 9, tzinfo=UTC)
        self.lines = list[bytes]()
        self.head: Head = GENESIS
        self.add("run.queued")
        self.add("run.started")

    def add(self, event: str, step: str | None = None, **data: Any) -> None:
        effect = f"eff_{self.head.seq}" if event == "effect.proposed" else None
        about = Correlation(run_id="run_1", step=step, effect_id=effect)
        by = Actor(id="omar", kind="person") if event == REPAIR_DECIDED else PROGRAM
        leaf = next_leaf(
            self.head, run_id="run_1", at=self.at, event=event, actor=by, correlation=about, data=data
        ).leaf
        self.head = Head(leaf.seq, leaf.hash)
        self.lines.append(canonical.dumps(leaf.model_dump()))

    def tell(self, snapshot: Snapshot, event: Event, transition: Transition) -> None:
        """Write what one transaction writes."""
        self.at += timedelta(seconds=1)
        if isinstance(event, Canceled):
            self.add("run.cancel_requested", reason=event.reason)
        if isinstance(event, StepRepaired):
            given = {"result": commitment(event.result, "salt")} if event.act is RepairAction.SUPPLY else {}
            policy = {"decision_id": "d", "digest": "0" * 64}
            self.add(REPAIR_DECIDED, event.path, act=str(event.act), reason=event.reason, policy=policy, **given)
        if isinstance(event, StepMoved) and self.tree.node(event.path).kind == "wait":
            self.add("wait.completed", event.path)
        for path, state in transition.steps.items():
            if state.status in SAID:
                why = {"error": state.error} if state.error else {}
                self.add(f"step.{state.status}", path, **why, **step_facts(self.tree, path, state, "salt"))
        for proposal in transition.proposals:
            self.add("effect.proposed", proposal.path)
        if transition.run is not snapshot.status:
            self.add(f"run.{transition.run}", **self._of_run(snapshot, transition))

    def _of_run(self, snapshot: Snapshot, transition: Transition) -> dict[str, Any]:
        said: dict[str, Any] = {"from": str(snapshot.status)}
        if not is_final(RUN, transition.run):
            return said
        failed = ending_of(self.tree, transition.run, after(self.tree, snapshot, transition).steps).failed
        error = f"{failed[0].step}: {failed[0].why}" if failed else transition.output_error
        given = {"output": commitment(transition.output, "salt")} if transition.has_output else {}
        return {**said, "error": error, **({"outcome": transition.ended.outcome} if transition.ended else {}), **given}

    def facts(self) -> Facts:
        definition = canonical.dumps(definition_document(self.tree))
        members = {names.DEFINITION: definition, names.AUDIT: b"\n".join([*self.lines, b""])}
        return Facts(Contents(members, cast("Statement", None), "", cast("Trust", None)))  # these rules ask for neither


def record_of(tree: Definition, played: list[Played]) -> Record:
    record = Record(tree)
    for snapshot, event, transition in played:
        record.tell(snapshot, event, transition)
    return record


def demand_all(facts: Facts) -> None:
    for rule in RULES:
        rule.check(facts)


@given(trees(), st.data())
def test_every_run_that_was_played_to_its_end_keeps_the_rules(tree: Definition, data: st.DataObject) -> None:
    demand_all(record_of(tree, play(tree, data)[:-1]).facts())


@given(trees(), st.data())
def test_every_run_that_was_canceled_on_its_way_keeps_the_rules(tree: Definition, data: st.DataObject) -> None:
    played = play(tree, data)[:-1]
    number = data.draw(st.integers(0, len(played) - 1))
    snapshot, event = played[number][0], Canceled("no more")
    demand_all(record_of(tree, [*played[:number], (snapshot, event, plan(tree, snapshot, event))]).facts())


@given(trees(), st.data())
def test_the_end_of_no_step_can_be_left_out(tree: Definition, data: st.DataObject) -> None:
    record = record_of(tree, play(tree, data)[:-1])
    told = [Leaf.model_validate(canonical.loads(line)) for line in record.lines]
    ends = [leaf.seq for leaf in told if leaf.event in OVER and not str(leaf.correlation.step).endswith("]")]
    del record.lines[data.draw(st.sampled_from(ends)) - 1]
    with pytest.raises(BrokenError):
        demand_all(record.facts())


def test_the_verifier_knows_the_errors_that_the_engine_has() -> None:
    assert frozenset(ErrorCode) == steps.CODES
    page = (ROOT / "evidence/page/verify.html").read_text(encoding="utf-8")
    said = page.partition("const ERROR_CODES = new Set([")[2].partition("])")[0]
    assert frozenset(re.findall(r'"(\w+)"', said)) == steps.CODES
