"""Exceptions, judgements and reports: what people are told of a bundle.

Exceptions of a run: derived from its records alone, each with its person, its time and its leaf.

What `countersign evidence verify` says of files: for people, for programs, and by its exit status.

A report tells what was verified: the file, and what is large in it, is read once.
"""

import json
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from countersign.cli.evidence_options import VerifierInputs
from countersign.cli.verify import verify_all
from evidence.reading.exceptions import QUICK, ExceptionKind, Exceptions, exceptions_of, length
from evidence.reading.material import Material
from evidence.report import report_on
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.rules import Rule
from evidence.verify.trust import trust_of
from evidence.zipform import pack
from receipts import canonical, piecewise
from receipts.fields import timestamp
from tests.unit.evidence_bends import members_of
from tests.unit.evidence_sample import START, Office, Story, story
from tests.unit.test_evidence_report import words_of

SIGNED = {"approval_id": "a-1", "step": "file", "effect_id": "e-write"}
BEN, CAT = 14, 15
"""The leaves of the two votes in the sample."""


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office.in_folder(tmp_path)


def found_in(office: Office, told: Story, quick: timedelta = QUICK) -> Exceptions:
    return exceptions_of(Material(members_of(office.seal(told.dossier()))), quick)


def lines(found: Exceptions) -> list[tuple[str, str, str, int]]:
    return [(one.kind, one.name, one.what, one.leaf) for one in found.entries]


def vote_leaf(told: Story, person: str) -> dict[str, Any]:
    return next(data for event, data in told.events if event == "vote.counted" and data["person"] == person)


def opened(told: Story, person: str, *, seconds: float) -> None:
    """Have a person open the form so many seconds before their vote."""
    leaf = vote_leaf(told, person)
    leaf["opened_at"] = timestamp(START + timedelta(minutes=leaf["minute"], seconds=-seconds))


def reviewed(told: Story, minute: int, person: str = "ben") -> None:
    """Have somebody review before the signatures."""
    vote = {"person": person, "person_name": person.title(), "groups": ["compliance"], "verdict": "approve"}
    review = {**told.approvals["a-1"], "id": "a-0", "kind": "task", "step": "review", "purpose": "Review owners"}
    told.approvals["a-0"] = {**review, "effect_id": None, "digest": "0" * 64, "votes": [vote], "cards": []}
    at = next(place for place, (event, _) in enumerate(told.events) if event == "vote.counted")
    about = {"approval_id": "a-0", "effect_id": None, "step": "review", "minute": minute}
    told.events[at:at] = [
        ("approval.requested", dict(about)),
        ("vote.counted", {**about, "person": person, "actor": person, "verdict": "approve"}),
    ]


def after_votes(told: Story, event: str, **data: Any) -> None:
    place = max(place for place, (one, _) in enumerate(told.events) if one == "vote.counted")
    told.events.insert(place + 1, (event, {"minute": 7, **data}))


def test_a_run_as_it_should_be_has_no_exceptions(office: Office) -> None:
    told = story()
    for person in ("ben", "cat"):
        opened(told, person, seconds=11)
    found = found_in(office, told)
    assert (found.entries, found.votes, found.opening) == ([], 2, "")


def test_a_vote_soon_after_opening_is_quick(office: Office) -> None:
    told = story()
    opened(told, "ben", seconds=10)
    opened(told, "cat", seconds=10.5)
    (entry,) = found_in(office, told).entries
    assert (entry.kind, entry.person, entry.name, entry.leaf) == (ExceptionKind.QUICK_VOTE, "ben", "Ben", BEN)
    assert (entry.what, entry.seconds) == ("approved “File a report” 10 s after opening it", 10)
    assert entry.at == timestamp(START + timedelta(minutes=6))


def test_how_soon_is_quick_is_a_setting(office: Office) -> None:
    told = story()
    opened(told, "ben", seconds=60)
    opened(told, "cat", seconds=61)
    assert [one.person for one in found_in(office, told, timedelta(minutes=1)).entries] == ["ben"]
    assert found_in(office, told, timedelta(seconds=59)).entries == []


def test_where_opening_was_not_recorded_it_says_so(office: Office) -> None:
    found = found_in(office, story())
    assert found.entries == []
    assert found.opening == "Opening was not recorded for 2 of 2 votes, so quick voting is not checked there."
    told = story()
    opened(told, "ben", seconds=30)
    found = found_in(office, told)
    assert found.opening == "Opening was not recorded for 1 of 2 votes, so quick voting is not checked there."


def test_an_opening_that_is_no_moment_is_not_measured(office: Office) -> None:
    told = story()
    vote_leaf(told, "ben")["opened_at"] = "yesterday"
    vote_leaf(told, "cat")["opened_at"] = timestamp(START + timedelta(hours=1))  # after the vote
    assert found_in(office, told).entries == []


def test_the_same_person_reviewed_and_signed(office: Office) -> None:
    told = story()
    reviewed(told, 5)
    (entry,) = found_in(office, told).entries
    assert (entry.kind, entry.name, entry.seconds) == (ExceptionKind.SAME_PERSON, "Ben", 60)
    assert entry.what == "reviewed “Review owners” and signed “File a report”, 1 min apart"
    assert entry.leaf == BEN + 2, "it stands on the later of the two"


def test_another_person_may_review(office: Office) -> None:
    told = story()
    reviewed(told, 5, "dan")
    assert found_in(office, told).entries == []


def test_a_delegate_who_reviewed_signs_for_another_and_is_the_same_person(office: Office) -> None:
    told = story()
    reviewed(told, 5)
    told.approvals["a-1"]["votes"][0]["delegation"] = {"delegator": "dora", "delegator_name": "Dora Holm"}
    assert lines(found_in(office, told)) == [
        ("delegation", "Ben", "approved “File a report” for “Dora Holm”, by delegation", BEN + 2),
        (
            "same_person",
            "Ben",
            "reviewed “Review owners” and signed “File a report” (for another person), 1 min apart",
            BEN + 2,
        ),
    ]


def test_break_glass_is_an_exception_with_its_ticket(office: Office) -> None:
    told = story()
    told.approvals["a-1"]["votes"][1]["break_glass"] = {"ticket": "INC-7", "nth": 1}
    assert lines(found_in(office, told)) == [
        ("break_glass", "Cat", "approved “File a report” alone by break-glass, ticket “INC-7”", CAT)
    ]


def test_an_edit_is_an_exception_with_the_fields_and_the_reason(office: Office) -> None:
    told = story()
    changes = [{"param": "owner"}, {"param": "share"}]
    told.approvals["a-1"]["edited"] = {"person": "dan", "person_name": "Dan Ek", "reason": "typo", "changes": changes}
    after_votes(told, "effect.edited", **SIGNED, actor="dan", person="dan")
    assert lines(found_in(office, told)) == [
        ("edit", "Dan Ek", "edited “File a report”: “owner” and “share”: “typo”", CAT + 1)
    ]


def test_what_was_handed_on_is_a_delegation(office: Office) -> None:
    told = story()
    after_votes(told, "approval.handed", **SIGNED, actor="ben", person="ben", to="cat", reason="on leave")
    assert lines(found_in(office, told)) == [
        ("delegation", "Ben", "handed “File a report” to “Cat”: “on leave”", CAT + 1)
    ]


def test_a_refused_vote_is_an_exception_with_its_reason(office: Office) -> None:
    told = story()
    stranger = {"code": "identity.unknown", "verdict": "approve", "actor": "slack:T1:U9"}
    after_votes(told, "vote.refused", **SIGNED, code="vote.requester", verdict="edit", actor="ada")
    after_votes(told, "vote.refused", **SIGNED, **stranger)
    assert lines(found_in(office, told)) == [
        (
            "refused",
            "Slack account U9 of team T1",
            "tried to approve “File a report”; refused: is not in the directory",
            CAT + 1,
        ),
        (
            "refused",
            "ada",
            "tried to edit “File a report”; refused: requested it, so someone else has to decide",
            CAT + 2,
        ),
    ]


def test_a_denied_effect_is_an_exception_of_the_person_who_wanted_it(office: Office) -> None:
    told = story()
    denied = canonical.loads(canonical.dumps(told.decisions["d-1"]))
    denied |= {"id": "d-9", "outcome": "deny"}
    denied["answer"] = {"outcome": "deny", "reasons": [{"code": "limits.runs", "msg": "Too many runs"}]}
    told.decisions["d-9"] = denied
    after_votes(told, "decision.recorded", step="file", effect_id="e-write", decision_id="d-9")
    assert lines(found_in(office, told)) == [
        ("denied", "ada", "policy denied “file report on DE/123”: “Too many runs”", CAT + 1)
    ]


def test_an_answer_and_a_wish_that_were_not_taken_are_exceptions(office: Office) -> None:
    told = story()
    after_votes(told, "notification.refused", step="file", actor="eve", code="answer.unfit", reason="no such field")
    after_votes(told, "notification.refused", step=None, actor="eve", code="identity.guest", reason="")
    assert lines(found_in(office, told)) == [
        ("refused", "eve", "sent something for the run; refused: is a guest", CAT + 1),
        ("refused", "eve", "sent something for the step “file”; refused: “no such field”", CAT + 2),
    ]


def test_words_of_a_bundle_cannot_pass_for_words_of_ours(office: Office) -> None:
    told = story()
    told.approvals["a-1"]["purpose"] = "x”, and nothing else.\u202e\n“"
    told.approvals["a-1"]["votes"][1]["break_glass"] = {"ticket": "y”", "nth": 1}
    (entry,) = found_in(office, told).entries
    shown = "“x⟨U+201D⟩, and nothing else.⟨U+202E⟩ ⟨U+201C⟩”"
    assert entry.what == f"approved {shown} alone by break-glass, ticket “y⟨U+201D⟩”"


def test_a_bundle_with_records_of_another_shape_has_exceptions_too(office: Office) -> None:
    members = members_of(office.seal(story().dossier()))
    broken = b'{"event": "vote.counted", "data": {"approval_id": "a-1", "person": "ben"}, "seq": "x"}\n'
    found = exceptions_of(Material({**members, "audit.jsonl": broken, "run.json": b"[]"}))
    assert (found.entries, found.votes) == ([], 1)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (6.9, "6 s"), (60, "1 min"), (125, "2 min 5 s"), (90_061, "1 d 1 h")]
)
def test_a_length_of_time_is_said_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert length(seconds) == said


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Files of every standing, and the key."""
    office, other = Office.in_folder(tmp_path / "a"), Office.in_folder(tmp_path / "b", 2)
    broken = story()
    broken.approvals["a-1"]["votes"][0]["reason"] = ""
    made = {"holds": story(), "broken": broken}
    found = {name: tmp_path / f"{name}.zip" for name in (*made, "unsigned", "absent")}
    for name, told in made.items():
        found[name].write_bytes(office.seal(told.dossier()).read_bytes())
    found["unsigned"].write_bytes(other.seal(story().dossier()).read_bytes())
    return {**found, "key": office.public}


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["holds"], 0),
        (["holds", "holds"], 0),
        (["broken"], 1),
        (["absent"], 3),
        (["unsigned"], 4),
        (["holds", "absent"], 3),
        (["absent", "unsigned", "holds"], 4),
        (["absent", "unsigned", "broken", "holds"], 1),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_exit_status_is_that_of_the_worst_file(
    files: dict[str, Path], names: list[str], code: int, *, as_json: bool
) -> None:
    assert verify_all([files[name] for name in names], VerifierInputs(key=files["key"]), None, as_json=as_json) == code


def test_a_key_that_cannot_be_read_verifies_nothing(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_all([files["holds"]], VerifierInputs(key=files["absent"]), None, as_json=True) == 3
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)


def test_programs_are_told_one_object_for_each_file(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    order = ("holds", "broken", "unsigned", "absent")
    verify_all([files[name] for name in order], VerifierInputs(key=files["key"]), None, as_json=True)
    told = dict(zip(order, json.loads(capsys.readouterr().out)["bundles"], strict=True))
    holds = told["holds"]
    assert (holds["run"], holds["tenant"], holds["format"], holds["holds"]) == ("run-1", "acme", 1, True)
    assert {"name": "votes.in-time", "step": 8, "found": "2 votes"} in holds["checks"]
    broken = told["broken"]
    assert (broken["run"], broken["format"], broken["holds"], broken["checks"]) == ("run-1", 1, False, None)
    assert broken["failed"]["name"] == "votes.reasons"
    assert (broken["failed"]["step"], broken["failed"]["member"]) == (8, "approvals/a-1.json")
    assert (told["unsigned"]["run"], told["unsigned"]["failed"]["name"]) == (None, "statement.signed")
    assert len(told["unsigned"]["sha256"]) == 64
    assert (told["absent"]["sha256"], told["absent"]["failed"]["name"]) == (None, "archive.read")
    assert {frozenset(one) for one in told.values()} == {frozenset(holds)}, "every object has the same members"


def test_people_are_told_which_of_several_files_does_not_hold(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    verify_all([files["holds"], files["broken"]], VerifierInputs(key=files["key"]), None, as_json=False)
    told = capsys.readouterr()
    assert told.out.startswith(f"{files['holds']}\nSigned by the key ")
    assert told.out.endswith("1 of 2 hold.\n")
    assert told.err.startswith(f"countersign: {files['broken']}: step 8, votes.reasons: approvals/a-1.json: ")


@pytest.mark.parametrize("fault", ["", "is not so"])
def test_a_report_tells_what_was_verified_though_the_file_is_another_one_by_then(office: Office, fault: str) -> None:
    path = office.seal(story().dossier())

    def check(then: bytes, _: Contents) -> str:
        path.write_bytes(then)
        if fault:
            raise BrokenError("run.json", fault)
        return "holds"

    rules = [Rule("x", "x", partial(check, then)) for then in (path.read_bytes(), pack({"x": b"{}"}))]
    still, changed = (report_on(path, trust_of(office.public), rule) for rule in rules)
    assert changed == still
    assert "Ben approved" in words_of(changed)


@pytest.mark.parametrize("key", [True, False])
def test_a_report_reads_large_json_once(office: Office, *, key: bool) -> None:
    told = story()
    told.receipts["r-3"]["response"] = {"rows": [{"id": number} for number in range(10_000)]}
    told.decisions["d-1"]["note"] = ["x"] * 20_000
    reads = list[bytes]()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is piecewise.read.__code__:
            reads.append(frame.f_locals["data"])

    path = office.seal(told.dossier())
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        report_on(path, trust_of(office.public) if key else None)
    finally:
        sys.setprofile(before)
    assert len(reads) == 2, "a receipt and a decision"
    assert reads[0] != reads[1]
