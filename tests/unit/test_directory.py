"""The directory file is read strictly, and every fault is named with its place."""

from pathlib import Path

import pytest

from countersign.directory import Directory, DirectoryError, read_directory
from countersign.loaded_files import edition_of
from tests.files import DIRECTORY

ANNA = "{id: anna, name: Anna Berg, groups: [compliance], slack: [{team: T0HOST, user: U0ANNA}]}"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "directory.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def refusal(tmp_path: Path, text: str) -> str:
    file = written(tmp_path, text)
    with pytest.raises(DirectoryError) as caught:
        read_directory(file)
    return str(caught.value).replace(f"{file}:", "")


def test_the_directory_of_embedded_mode_is_in_order() -> None:
    directory = read_directory(DIRECTORY)
    assert {"compliance", "operators"} <= {group for person in directory.people for group in person.groups}
    assert all(agent.triggers for agent in directory.agents)


def test_a_person_may_have_two_accounts(tmp_path: Path) -> None:
    text = "people: [{id: anna, name: Anna, slack: [{team: T1, user: U1}, {team: T2, user: U1}]}]"
    assert len(read_directory(written(tmp_path, text)).people[0].slack) == 2


def test_what_a_person_may_start_belongs_to_the_digest_and_leaves_others_as_they_were() -> None:
    ann = {"id": "ann", "name": "Ann", "groups": ["g"]}
    plain = edition_of(Directory.model_validate({"people": [ann]}))
    granted = edition_of(Directory.model_validate({"people": [{**ann, "triggers": ["access.request"]}]}))
    assert plain.digest == "451647a19f4f8b8472c6047a5ca3750a7d2b6038b2030286206e52a16b56f08a"
    assert granted.digest != plain.digest


def test_an_account_of_two_people_is_loaded_so_that_its_clicks_are_refused(tmp_path: Path) -> None:
    account = "slack: [{team: T1, user: U1}]"
    text = f"people:\n- {{id: ann, name: Ann, {account}}}\n- {{id: ben, name: Ben, {account}}}\n"
    assert [person.slack[0].user for person in read_directory(written(tmp_path, text)).people] == ["U1", "U1"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1: $: expected a mapping, not nothing"),
        ("agents: []", "1: people: this key is missing"),
        ("people: {}", "1: people: expected a list, not a mapping"),
        (
            "groups: [{name: desk, slack_usergroup: C1}]\npeople: []",
            "1: groups[0].slack_usergroup: 'C1' does not match ^S",
        ),
        (
            "groups:\n- {name: desk, slack_usergroup: S1}\n- {name: desk, slack_usergroup: S2}\npeople: []",
            "3: groups[1].name: desk is groups[0] already",
        ),
        (
            "groups: [{name: desk, slack_usergroup: S1}]\npeople:\n- {id: ann, name: Ann, groups: [desk]}",
            "3: people[0].groups[0]: who is in desk is said by its Slack user group alone",
        ),
        (
            "people:\n- {id: ann, name: Ann, email: a@b}",
            "2: people[0].email: nobody is told by an address without match_by_email",
        ),
        (
            "match_by_email: true\npeople:\n- {id: ann, name: Ann, email: a@b}\n- {id: ben, name: Ben, email: A@b}",
            "4: people[1].email: is that of people[0]",
        ),
        (f"people:\n- {ANNA}\nstaff: []", "3: staff: unknown key"),
        ("people:\n- {id: anna, name: Anna, group: [x]}", "2: people[0].group: unknown key"),
        ("people:\n- {id: Anna, name: Anna}", "2: people[0].id: 'Anna' does not match "),
        ("people:\n- {id: 7, name: Anna}", "2: people[0].id: expected text, not 7"),
        ("people:\n- {id: anna, name: ''}", "2: people[0].name: '' does not match "),
        ('people:\n- {id: anna, name: "A\\0"}', r"2: people[0].name: 'A\x00' does not match "),
        (
            "people:\n- {id: anna, name: A, groups: compliance}",
            "2: people[0].groups: expected a list, not 'compliance'",
        ),
        (
            "people:\n- id: anna\n  name: A\n  slack:\n  - {team: X1, user: U1}",
            "5: people[0].slack[0].team: 'X1' does not",
        ),
        (
            "people:\n- id: anna\n  name: A\n  slack:\n  - {team: T1, user: anna}",
            "5: people[0].slack[0].user: 'anna' does",
        ),
        (
            "people: []\nagents:\n- {id: a, name: A, on_behalf: 'yes'}",
            "3: agents[0].on_behalf: expected true or false, not 'yes'",
        ),
        (
            f"people:\n- {ANNA}\nagents:\n- {{id: a, name: A, answers_for: [bo]}}",
            "4: agents[0].answers_for[0]: there is",
        ),
        (f"people:\n- {ANNA}\n- {ANNA}", "3: people[1].id: anna is people[0] already"),
        (f"people:\n- {ANNA}\nagents:\n- {{id: anna, name: A}}", "4: agents[0].id: anna is people[0] already"),
        (
            "people:\n- {id: anna, name: A, slack: [{team: T1, user: U1}, {team: T1, user: U1}]}",
            "2: people[0].slack[1]: T1 U1 is listed twice",
        ),
        (f"people:\n- {ANNA}\npeople: []", "3: people: the key 'people' stands twice"),
        ("people: [", "not YAML"),
    ],
)
def test_each_fault_is_refused_with_its_line_and_path(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    text = "people:\n- {id: A, name: A}\n- {id: b}\nagents:\n- {id: c, name: C, may: [x]}\n"
    assert [line.split(":")[1] for line in refusal(tmp_path, text).splitlines()] == [
        " people[0].id",
        " people[1].name",
        " agents[0].may",
    ]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError, match=r"none\.yaml.*No such file"):
        read_directory(tmp_path / "none.yaml")
