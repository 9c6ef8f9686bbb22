"""A table of people is read strictly, shown as what it changes, and written into a file only when told to."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.config.directory import DirectoryError, read_directory
from countersign.config.people_csv import read_people

DIRECTORY = """\
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


def _files(tmp_path: Path, table: str) -> tuple[Path, Path]:
    into, file = tmp_path / "directory.yaml", tmp_path / "people.csv"
    into.write_text(DIRECTORY, encoding="utf-8")
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


def test_what_a_table_has_no_column_for_stays_as_the_file_says(tmp_path: Path) -> None:
    file, into = _files(tmp_path, TABLE)
    more = DIRECTORY.replace("name: Ben Lee,", "name: Ben Lee, triggers: [access.request], email: ben@acme.example,")
    desk = "groups: [{name: desk, slack_usergroup: S0DESK}]\nmatch_by_email: true\n"
    into.write_text(more.replace("people:", f"{desk}people:"), encoding="utf-8")
    made = read_people(file, read_directory(into))
    assert (made.people[1].triggers, made.people[1].email) == (["access.request"], "ben@acme.example")
    assert ([group.name for group in made.groups], made.match_by_email) == (["desk"], True)


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
    assert (code, into.read_text()) == (0, DIRECTORY)
    assert said.endswith("6 changes; nothing was written: say --yes\n")
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
