"""What `countersign evidence verify` says of files: for people, for programs, and by its exit status."""

import json
from pathlib import Path

import pytest

from countersign.cli.evidence_options import VerifierInputs
from countersign.cli.verify import verify_all
from tests.unit.evidence_bound import bound
from tests.unit.evidence_sample import Office, story


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Files of every standing, and the key."""
    office, other = Office.in_folder(tmp_path / "a"), Office.in_folder(tmp_path / "b")
    broken = bound()
    broken.approvals["a-1"]["votes"][0]["reason"] = ""
    made = {"holds": bound(), "first": story(), "broken": broken}
    found = {name: tmp_path / f"{name}.zip" for name in (*made, "unsigned", "absent")}
    for name, told in made.items():
        found[name].write_bytes(office.seal(told.dossier()).read_bytes())
    found["unsigned"].write_bytes(other.seal(story().dossier()).read_bytes())
    return {**found, "key": office.public}


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["holds"], 0),
        (["holds", "first"], 0),
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
    order = ("holds", "first", "broken", "unsigned", "absent")
    verify_all([files[name] for name in order], VerifierInputs(key=files["key"]), None, as_json=True)
    told = dict(zip(order, map(json.loads, capsys.readouterr().out.splitlines()), strict=True))
    holds = told["holds"]
    assert (holds["run"], holds["tenant"], holds["format"], holds["holds"]) == ("run-1", "acme", 2, True)
    assert {"name": "votes.in-time", "step": 8, "found": "2 votes"} in holds["checks"]
    assert told["first"]["format"] == 1
    broken = told["broken"]
    assert (broken["run"], broken["format"], broken["holds"], broken["checks"]) == ("run-1", 2, False, None)
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
