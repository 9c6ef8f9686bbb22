"""Format 2: the chain binds what people saw and said, and the run is what the chain tells."""

import base64
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evidence.build import Dossier
from evidence.names import is_member
from evidence.run_record import run_as_told
from evidence.statement import Counts, Predicate, count, largest, make_statement
from evidence.verify.verify import VerificationError, verify
from evidence.zipform import pack, unpack
from receipts import canonical, chain
from receipts.chain import MAX_LEAF, MAX_LINE, Leaf
from tests.unit.evidence_bends import drop
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import Office, Story, chained, story

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
    report = verify(office.seal(bound().dossier()), office.public)
    assert [passed.step for passed in report.steps] == list(range(1, 13))


def test_a_leaf_as_large_as_the_program_writes_one_holds(office: Office) -> None:
    dossier = with_a_line_of(MAX_LINE)
    body = {name: value for name, value in dossier.leaves[1].items() if name != "hash"}
    assert len(canonical.dumps(body)) == MAX_LEAF
    assert verify(office.seal(dossier), office.public).version == "2"


def meddled(**change: Any) -> Dossier:
    """Return the dossier of an approval that was changed after the chain had bound it."""
    dossier = bound().dossier()
    return dataclasses.replace(dossier, approvals=[dict(dossier.approvals[0]) | change])


def told_with(*bends: Callable[[Story], object]) -> Dossier:
    told = bound()
    for bend in bends:
        bend(told)
    return told.dossier()


def votes(**change: Any) -> list[dict[str, Any]]:
    first, *others = bound().approvals["a-1"]["votes"]
    return [first | change, *others]


UNBOUND = "what was asked is not what audit.jsonl line 6 binds"


def with_a_line_of(size: int) -> Dossier:
    """Return the dossier of a run the second leaf of which has so many bytes, as no leaf of the program's has."""

    def noted(told: Story, words: str) -> Dossier:
        told.events[1][1]["noted"] = words
        return told.dossier()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "MAX_LEAF", 2**20)
        beside = len(canonical.dumps(noted(bound(), "").leaves[1]))
        return noted(bound(), "x" * (size - beside))


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


@pytest.mark.parametrize(("made", "claimed"), [(bound, "1"), (story, "2")])
def test_a_bundle_cannot_claim_another_format_than_its_chain(
    office: Office, made: Callable[[], Story], claimed: str
) -> None:
    with office.seal(made().dossier()).open("rb") as stream:
        members = dict(unpack(stream).members)
    statement = canonical.loads(base64.b64decode(json.loads(members.pop("statement.dsse.json"))["payload"]))
    members = {name: data for name, data in members.items() if is_member(name, int(claimed))}
    named = {"key_id": office.key.public.key_id if claimed == "2" else None, "builder_version": claimed}
    predicate = statement["predicate"] | named | {"counts": count(members, int(claimed)).model_dump()}
    members["statement.dsse.json"] = office.sign(make_statement(members, Predicate.model_validate(predicate)))
    said = f"is of format {claimed}, and the chain of format {3 - int(claimed)}"
    assert failure(office, office.write(pack(members))) == ("chain.format", "statement.dsse.json", said)


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
    with office.seal(bound().dossier()).open("rb") as stream:
        members = dict(unpack(stream).members)
    envelope = json.loads(members["statement.dsse.json"])
    statement = canonical.loads(base64.b64decode(envelope["payload"]))
    assert envelope["signatures"][0]["keyid"] == "", "tools that derive an id of their own take any with none"
    assert statement["predicate"]["key_id"] == office.key.public.key_id
    statement["predicate"]["key_id"] = "0" * 64
    members["statement.dsse.json"] = office.sign(canonical.dumps(statement))
    assert failure(office, office.write(pack(members)))[:2] == ("statement.form", "statement.dsse.json")


def test_a_statement_that_is_larger_than_it_can_be_is_not_looked_at(office: Office) -> None:
    with office.seal(bound().dossier()).open("rb") as stream:
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
        builder_version="2",
        key_id="0" * 64,
    )
    statement = make_statement(dict.fromkeys(names, b""), predicate)
    assert len(base64.b64encode(statement)) < largest(names) < 1.5 * len(statement) + 2**18
