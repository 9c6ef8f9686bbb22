"""The directory file: read strictly, and people imported into it.

The directory file is read strictly, and every fault is named with its place.

People from elsewhere are read strictly, shown as what it changes, and written into a file only when told to.
"""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.directory import Directory, DirectoryError, read_directory
from countersign.loaded_files import edition_of
from countersign.people_import import read_people
from tests.files import DIRECTORY

ANNA = "{id: anna, name: Anna Berg, groups: [compliance], slack: [{team: T0HOST, user: U0ANNA}]}"
SIGN_IN = "{issuer: 'https://login.example', subject: s-1}"


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
    assert all(agent.triggers or agent.previews for agent in directory.agents)


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
            "3: people[0].groups[0]: people of desk come from its Slack user group alone",
        ),
        (
            f"people:\n- {{id: ann, name: Ann, sign_in: [{SIGN_IN}]}}\n- {{id: ben, name: Ben, sign_in: [{SIGN_IN}]}}",
            "3: people[1].sign_in[0]: is that of people[0] already",
        ),
        (
            "people:\n- {id: ann, name: Ann, sign_in: [{issuer: 'a', subject: x}]}",
            "2: people[0].sign_in[0].issuer: 'a' does not match ",
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


IMPORTED_DIRECTORY = """\
version: 4
people:
- {id: anna, name: Anna Berg, groups: [compliance], slack: [{team: T0HOST, user: U0ANNA}]}
- {id: ben, name: Ben Lee, groups: [legal]}
- {id: eve, name: Eve Stone}
agents:
- {id: portal, name: Portal, answers_for: [anna]}
"""
TABLE = """\
id,name,groups,slack
anna,"Berg, Anna",compliance; legal,T0HOST/U0ANNA;T0HOST/W0ANNA
ben,Ben Lee,legal,

gil,Gil Ortega,,T0HOST/U0GIL
"""


def _files(tmp_path: Path, table: str, name: str = "people.csv") -> tuple[Path, Path]:
    into, file = tmp_path / "directory.yaml", tmp_path / name
    into.write_text(IMPORTED_DIRECTORY, encoding="utf-8")
    file.write_bytes(table.encode())
    return file, into


def _import(*words: str) -> tuple[int, str]:
    told = CliRunner().invoke(app, ["people", "import", *words])
    return told.exit_code, told.output


def test_a_table_takes_the_place_of_the_people_and_agents_stay(tmp_path: Path) -> None:
    file, into = _files(tmp_path, "\ufeff" + TABLE.replace("\n", "\r\n"))
    made = read_people(file, read_directory(into))
    assert (made.version, [agent.id for agent in made.agents]) == (5, ["portal"])
    assert [(one.id, one.name, one.groups) for one in made.people] == [
        ("anna", "Berg, Anna", ["compliance", "legal"]),
        ("ben", "Ben Lee", ["legal"]),
        ("gil", "Gil Ortega", []),
    ]
    assert [account.user for account in made.people[0].slack] == ["U0ANNA", "W0ANNA"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("", "1: its columns are none, not id, name, groups, slack"),
        ("id,name,groups\n", "1: its columns are id, name, groups, not"),
        ("id,name,groups,slack,slack\n", "1: its columns are"),
        (TABLE + "ben,Ben,,\n", "6: id: ben is people[1] already"),
        (TABLE + "Bo,Bo,,\n", "6: id: String should match pattern"),
        (TABLE + "bo,,,\n", "6: name: String should match pattern"),
        (TABLE + "bo,Bo,a;;b,\n", "6: groups.1: String should match pattern"),
        (TABLE + "bo,Bo,,U0BO\n", "6: slack.0.team: String should match pattern"),
        (TABLE + "bo,Bo,,T1/U1;T1/U1\n", "6: slack.1: T1 U1 is listed twice"),
        (TABLE + "bo,Bo,\n", "6: 3 cells, where there are 4 columns"),
        (TABLE + 'bo,"Bo\n', "not CSV: unexpected end of data"),
        ("id,name,groups,slack\nben,Ben,,\n", "agent portal, answers_for.0: there is no person anna"),
    ],
)
def test_a_fault_is_named_with_its_line_and_column(tmp_path: Path, table: str, says: str) -> None:
    file, into = _files(tmp_path, table)
    with pytest.raises(DirectoryError) as caught:
        read_people(file, read_directory(into))
    assert says in str(caught.value).replace(f"{file}:", "")


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    file, into = _files(tmp_path, TABLE + "Bo,,,\nbo,Bo\nben,Ben,,\n")
    with pytest.raises(DirectoryError) as caught:
        read_people(file, read_directory(into))
    assert len(str(caught.value).splitlines()) == 4


def test_what_is_no_utf8_is_refused(tmp_path: Path) -> None:
    file, into = _files(tmp_path, TABLE)
    file.write_bytes(TABLE.encode() + b"bo,B\xff,,\n")
    with pytest.raises(DirectoryError, match="6: not UTF-8"):
        read_people(file, read_directory(into))


def test_a_table_is_listed_as_what_it_changes_and_written_with_yes_alone(tmp_path: Path) -> None:
    file, into = _files(tmp_path, TABLE)
    code, said = _import(str(file), "--into", str(into))
    assert (code, into.read_text()) == (0, IMPORTED_DIRECTORY)
    assert said.endswith("6 changes; nothing was written: add --yes\n")
    assert [line.split()[:2] for line in said.splitlines()[1:-1]] == [
        ["anna", "name"],
        ["anna", "groups"],
        ["anna", "slack"],
        ["eve", "removed:"],
        ["gil", "added:"],
        ["gil", "added:"],
    ]
    wanted = read_people(file, read_directory(into))
    code, said = _import(str(file), "--into", str(into), "--yes")
    assert (code, read_directory(into)) == (0, wanted)
    assert "is version 5 now: load it" in said
    code, said = _import(str(file), "--into", str(into), "--yes")
    assert (code, said.endswith("nothing changes\n"), read_directory(into).version) == (0, True, 5)


KEPT = """\
version: 4
notices:
  quiet_hours: [{days: [sat, sun]}]
  passes: [high]
people:
- id: anna
  name: Anna Berg
  groups: [compliance]
  triggers: [access.request]
  slack: [{team: T0HOST, user: U0ANNA}]
  quiet_hours: [{days: [mon], from: "18:00", until: "08:00"}]
"""
SCIM = """\
- userName: anna@acme.example
  displayName: Anna Berg-Lind
  emails: [{value: anna@acme.example, type: work, primary: true}]
  groups: [{value: g-17, display: compliance}, legal]
  timezone: Europe/Berlin
- {userName: ben, displayName: Ben Lee, groups: [], active: false}
- {userName: gil, displayName: Gil Ortega, groups: [legal], slack: [{team: T0HOST, user: U0GIL}]}
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("people.csv", "id,name,groups,slack\nanna,Anna Berg,legal,T0HOST/U0ANNA\n"),
        ("people.csv", "userName,displayName,groups\nanna,Anna Berg,legal\n"),
        ("people.yaml", "- {id: anna, name: Anna Berg, groups: [legal]}\n"),
    ],
)
def test_what_an_import_does_not_say_stays_as_the_directory_has_it(tmp_path: Path, name: str, text: str) -> None:
    file, into = _files(tmp_path, text, name)
    into.write_text(KEPT, encoding="utf-8")
    code, _ = _import(str(file), "--into", str(into), "--yes")
    old = Directory.model_validate(yaml.safe_load(KEPT))
    [anna] = old.people
    assert code == 0
    assert read_directory(into) == old.model_copy(
        update={"version": 5, "people": [anna.model_copy(update={"groups": ["legal"]})]}
    )


def test_people_come_by_the_names_of_scim_and_who_is_not_active_goes(tmp_path: Path) -> None:
    file, into = _files(tmp_path, SCIM, "people.yml")
    anna, gil = read_people(file, read_directory(into)).people
    assert (anna.id, anna.name, anna.groups, anna.timezone) == (
        *("anna", "Anna Berg-Lind"),
        ["compliance", "legal"],
        "Europe/Berlin",
    )
    assert [account.user for account in (*anna.slack, *gil.slack)] == ["U0ANNA", "U0GIL"]


def test_a_table_may_have_the_columns_of_scim(tmp_path: Path) -> None:
    columns = "userName,displayName,groups,emails,active,timezone"
    table = f"{columns}\nanna,Anna,a; b,anna@acme.example,TRUE,Asia/Tokyo\nben,Ben,,,false,\n"
    file, into = _files(tmp_path, table)
    [anna] = read_people(file, read_directory(into)).people
    assert (anna.groups, anna.timezone, anna.slack[0].user) == (["a", "b"], "Asia/Tokyo", "U0ANNA")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "1: it is not a list of people"),
        ("- anna\n", "1: it is not a person by keys and values"),
        ("- id: anna\n- &a {id: b}\n", "2: $"),
        (SCIM + "- {id: gus, userName: gus}\n", "8: displayName: Field required"),
        (SCIM + "- {userName: gus, displayName: Gus, groups: [], title: Clerk}\n", "8: title: Extra inputs"),
        (SCIM + "- {userName: Gus, displayName: Gus, groups: []}\n", "8: userName: String should match"),
        (SCIM + "- {userName: gus, displayName: Gus, groups: [], active: 'yes'}\n", "8: active: Input should be a"),
        (SCIM + "- {userName: gus, displayName: Gus, groups: [], timezone: CEST}\n", "8: timezone: Value error, is no"),
        (SCIM + "- {userName: gus, displayName: Gus, groups: [], emails: [gus]}\n", "8: emails.0.value: String should"),
        (
            SCIM + "- {userName: gus, displayName: Gus, groups: [], emails: [{value: a@b.c, primary: true},"
            " {value: d@b.c, primary: true}]}\n",
            "8: person: Value error, emails: more than one is primary",
        ),
        (SCIM + "- {userName: gil@other.example, displayName: Gil, groups: []}\n", "8: id: gil is people[1] already"),
        ("- {id: anna, name: Anna, groups: [x], grops: []}\n", "1: grops: Extra inputs are not permitted"),
    ],
)
def test_a_fault_of_a_list_is_named_with_its_line_and_key(tmp_path: Path, text: str, says: str) -> None:
    file, into = _files(tmp_path, text, "people.yaml")
    with pytest.raises(DirectoryError) as caught:
        read_people(file, read_directory(into))
    assert says in str(caught.value).replace(f"{file}:", "")


def _changed(into: Path, *words: str) -> tuple[int, str]:
    told = CliRunner().invoke(app, ["people", *words, "--into", str(into)])
    return told.exit_code, told.output if told.exception is None else str(told.exception)


def test_one_person_is_added_and_removed_as_the_next_version_with_yes_alone(tmp_path: Path) -> None:
    _, into = _files(tmp_path, TABLE)
    gus = (
        "add",
        "gus",
        "--name",
        "Gus Holm",
        "--group",
        "legal",
        "--slack",
        "T0HOST/U0GUS",
        "--timezone",
        "Asia/Tokyo",
    )
    code, said = _changed(into, *gus)
    assert (code, into.read_text()) == (0, IMPORTED_DIRECTORY)
    assert said.endswith("4 changes; nothing was written: add --yes\n")
    assert _changed(into, *gus, "--yes")[0] == 0
    made = read_directory(into)
    assert (made.version, made.people[-1].id, made.people[-1].slack[0].user) == (5, "gus", "U0GUS")
    assert _changed(into, "remove", "gus", "--yes")[0] == 0
    before = Directory.model_validate(yaml.safe_load(IMPORTED_DIRECTORY))
    assert read_directory(into) == before.model_copy(update={"version": 6})


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "anna", "--name", "Anna"), "there is a person anna already"),
        (("add", "Gus", "--name", "Gus"), "id: String should match pattern"),
        (("add", "gus", "--name", "Gus", "--slack", "U0GUS"), "slack.0.team: String should match pattern"),
        (("add", "gus", "--name", "Gus", "--timezone", "Tokyo"), "is no time zone"),
        (("add", "portal", "--name", "Gus"), "portal is people"),
        (("remove", "gus"), "there is no person gus"),
        (("remove", "anna"), "there is no person anna"),
    ],
)
def test_what_cannot_be_added_or_removed_is_said_and_changes_nothing(
    tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    _, into = _files(tmp_path, TABLE)
    code, said = _changed(into, *words, "--yes")
    assert code != 0
    assert says in said
    assert into.read_text() == IMPORTED_DIRECTORY
