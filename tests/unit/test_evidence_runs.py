"""The run in evidence: the chain binds what people saw and said, and the run is what the chain tells.

What the planner does, the verifier takes: runs of random runbooks, played in any order, keep its rules for steps.
"""

import base64
import dataclasses
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import names
from evidence.build import Dossier
from evidence.run_record import run_as_told
from evidence.statement import Counts, Predicate, largest, make_statement
from evidence.verify import chain as verify_chain
from evidence.verify import control_flow, runs, step_repairs, steps
from evidence.verify.approvals import OVER
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.facts import Facts
from evidence.verify.trust import Trust
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack, unpack
from receipts import canonical, chain
from receipts.chain import (
    GENESIS,
    MAX_LEAF,
    MAX_LINE,
    PROGRAM,
    REPAIR_DECIDED,
    Actor,
    Correlation,
    Head,
    Leaf,
    next_leaf,
)
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
from tests.unit.evidence_bends import drop
from tests.unit.evidence_sample import Office, Story, chained, story
from tests.unit.test_planner_trees import after, play, trees

APPROVAL = "approvals/a-1.json"
CARD = {"channel": "C01", "ts": "1.2", "card": {"text": "Nothing to see", "blocks": []}}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office.in_folder(tmp_path_factory.mktemp("office"))


def failure(office: Office, path: Path) -> tuple[str, str, str]:
    with pytest.raises(VerificationError) as caught:
        verify(path, office.public)
    return caught.value.rule, caught.value.member, caught.value.what


def test_a_run_whose_chain_binds_it_passes_every_step(office: Office) -> None:
    report = verify(office.seal(story().dossier()), office.public)
    assert [passed.step for passed in report.steps] == list(range(1, 13))


def test_a_leaf_as_large_as_the_program_writes_one_holds(office: Office) -> None:
    dossier = with_a_line_of(MAX_LINE)
    body = {name: value for name, value in dossier.leaves[1].items() if name != "hash"}
    assert len(canonical.dumps(body)) == MAX_LEAF
    verify(office.seal(dossier), office.public)


def meddled(**change: Any) -> Dossier:
    """Return the dossier of an approval that was changed after the chain had bound it."""
    dossier = story().dossier()
    return dataclasses.replace(dossier, approvals=[dict(dossier.approvals[0]) | change])


def told_with(*bends: Callable[[Story], object]) -> Dossier:
    told = story()
    for bend in bends:
        bend(told)
    return told.dossier()


def votes(**change: Any) -> list[dict[str, Any]]:
    first, *others = story().approvals["a-1"]["votes"]
    return [first | change, *others]


UNBOUND = "what was asked is not what audit.jsonl line 6 binds"


def with_a_line_of(size: int) -> Dossier:
    """Return the dossier of a run the second leaf of which has so many bytes, as no leaf of the program's has."""

    def noted(told: Story, words: str) -> Dossier:
        told.events[1][1]["noted"] = words
        return told.dossier()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "MAX_LEAF", 2**20)
        beside = len(canonical.dumps(noted(story(), "").leaves[1]))
        return noted(story(), "x" * (size - beside))


LIES: dict[str, tuple[tuple[str, str, str], Callable[[], Dossier]]] = {
    "a vote's reason": (
        ("approvals.bound", APPROVAL, "its votes are not those that audit.jsonl binds"),
        lambda: meddled(votes=votes(reason="because")),
    ),
    "a voter's groups": (
        ("approvals.bound", APPROVAL, "its votes are not those that audit.jsonl binds"),
        lambda: meddled(votes=votes(groups=["compliance", "board"])),
    ),
    "another card": (
        ("approvals.bound", APPROVAL, "its cards are not those that audit.jsonl binds"),
        lambda: meddled(cards=[CARD]),
    ),
    "no card": (
        ("approvals.bound", APPROVAL, "its cards are not those that audit.jsonl binds"),
        lambda: meddled(cards=[]),
    ),
    "a card that nobody saw": (
        ("approvals.bound", APPROVAL, "its cards are not those that audit.jsonl binds"),
        lambda: told_with(lambda s: drop(s, "card.shown")),
    ),
    "what was there before": (("approvals.bound", APPROVAL, UNBOUND), lambda: meddled(before={"share": 25})),
    "a leaf that is too large": (
        ("chain.leaf-size", "audit.jsonl", f"line 2 has {MAX_LINE + 1} bytes, and may have {MAX_LINE}"),
        lambda: with_a_line_of(MAX_LINE + 1),
    ),
    "an end that was cut off": (
        ("chain.ended", "audit.jsonl", "does not end with evidence.begun: its end was cut off"),
        lambda: told_with(lambda s: drop(s, "evidence.begun")),
    ),
    "an earlier leaf": (
        ("chain.in-time", "audit.jsonl", "line 2 is earlier than the line before it"),
        lambda: told_with(lambda s: s.events[1][1].update(minute=-1)),
    ),
    "a run in other words": (
        ("run.as-told", "run.json", "is not the run that audit.jsonl tells"),
        lambda: told_with(lambda s: s.run.update(waits=[])),
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_what_the_chain_binds_cannot_be_told_otherwise(office: Office, name: str) -> None:
    said, lie = LIES[name]
    assert failure(office, office.seal(lie())) == said


@pytest.mark.parametrize(("claimed", "said"), [(2, "2"), (True, "True"), ("1", "1"), (None, "None")])
def test_a_chain_is_of_the_format_that_the_statement_names(office: Office, claimed: object, said: str) -> None:
    told = story()
    told.events[0][1]["format"] = claimed
    found = failure(office, office.seal(told.dossier()))
    assert found == ("chain.format", "statement.dsse.json", f"is of format 1, and the chain of format {said}")
    del told.events[0][1]["format"]
    assert failure(office, office.seal(told.dossier()))[0] == "chain.format"


OPENED = ("wait.opened", {"wait_id": "w-1", "step": "docs", "type": "external", "approval_id": "a-1"})
ENDS = [
    (("wait.completed", {"wait_id": "w-1"}), "completed"),
    (("wait.timed_out", {"wait_id": "w-1"}), "timed_out"),
    (("wait.completed", {"wait_id": "w-2"}), "active"),
    (("approval.approved", {"approval_id": "a-1"}), "completed"),
    (("approval.rejected", {"approval_id": "a-1"}), "completed"),
    (("approval.expired", {"approval_id": "a-1"}), "timed_out"),
    (("approval.canceled", {"approval_id": "a-1"}), "canceled"),
    (("approval.approved", {"approval_id": "a-2"}), "active"),
    (("step.failed_terminal", {"step": "docs"}), "canceled"),
    (("step.parked", {"step": "docs"}), "active"),
    (("step.succeeded", {"step": "other"}), "active"),
    (("run.canceled", {}), "canceled"),
]


@pytest.mark.parametrize(("end", "status"), ENDS)
def test_a_wait_ends_as_the_first_word_about_it_says(end: tuple[str, dict[str, Any]], status: str) -> None:
    leaves = [Leaf.model_validate(leaf) for leaf in chained([OPENED, end, ("run.succeeded", {})])]
    (wait,) = run_as_told(leaves if status != "active" else leaves[:2])["waits"]
    assert (wait["wait_id"], wait["step"], wait["status"]) == ("w-1", "docs", status)
    assert wait["resolved_at"] == (None if status == "active" else leaves[1].at)


def test_a_step_is_told_by_the_last_word_about_it() -> None:
    events: list[tuple[str, dict[str, Any]]] = [
        ("step.failed_retryable", {"step": "a", "error": "later"}),
        ("step.succeeded", {"step": "b"}),
        ("step.succeeded", {"step": "a"}),
    ]
    told = run_as_told([Leaf.model_validate(leaf) for leaf in chained(events)])
    assert told["steps"] == [
        {"path": "a", "status": "succeeded", "error": ""},
        {"path": "b", "status": "succeeded", "error": ""},
    ]
    assert (told["status"], told["finished_at"], told["writes"]) == (None, None, None)


def test_the_envelope_names_no_key_and_the_signed_statement_does(office: Office) -> None:
    with office.seal(story().dossier()).open("rb") as stream:
        members = dict(unpack(stream).members)
    envelope = json.loads(members["statement.dsse.json"])
    statement = canonical.loads(base64.b64decode(envelope["payload"]))
    assert envelope["signatures"][0]["keyid"] == "", "tools that derive an id of their own take any with none"
    assert statement["predicate"]["key_id"] == office.key.public.key_id
    statement["predicate"]["key_id"] = "0" * 64
    members["statement.dsse.json"] = office.sign(canonical.dumps(statement))
    assert failure(office, office.write(pack(members)))[:2] == ("statement.form", "statement.dsse.json")


def test_a_statement_that_is_larger_than_it_can_be_is_not_looked_at(office: Office) -> None:
    with office.seal(story().dossier()).open("rb") as stream:
        members = dict(unpack(stream).members)
    members["statement.dsse.json"] = b'{"payload":"' + b"A" * 2**20
    said = "is larger than a statement about the other members can be"
    assert failure(office, office.write(pack(members))) == ("statement.signed", "statement.dsse.json", said)


def test_the_largest_bundle_has_room_for_its_statement() -> None:
    names = [f"{'n' * 240}{number:06}" for number in range(2000)]
    predicate = Predicate(
        run_id="r" * 128,
        tenant="t" * 1000,
        definition_digest="0" * 64,
        sealed_seq=2**53 - 1,
        audit_head="0" * 64,
        counts=Counts(decisions=65_535, policies=65_535, approvals=65_535, receipts=65_535, reads=65_535),
        key_id="0" * 64,
    )
    statement = make_statement(dict.fromkeys(names, b""), predicate)
    assert len(base64.b64encode(statement)) < largest(names) < 1.5 * len(statement) + 2**18


RULES = (
    *verify_chain.LEAVES,
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
        return Facts(Contents(members, cast("Predicate", None), "", cast("Trust", None)))  # these rules ask for neither


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
    page = (ROOT / "evidence/browser/steps.js").read_text(encoding="utf-8")
    said = page.partition("const ERROR_CODES = new Set([")[2].partition("])")[0]
    assert frozenset(re.findall(r'"(\w+)"', said)) == steps.CODES
