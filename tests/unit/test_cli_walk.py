"""Every command that the parser knows, walked over: a new one is covered by itself.

Its help tells of each argument and option; what it does not know is refused; and without a system it says so. Each of
these is one sentence.
"""

import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from countersign.cli.app import app, main

_WITHOUT_SYSTEM = {
    ("case",): "lists the cases of the packs",
    ("up",): "makes a system",
    ("demo",): "makes a system",
    ("witness",): "is a program of its own",
    ("bucket",): "is about the bucket alone",
    ("config",): "tells the settings",
    ("doctor",): "tells of each part",
    ("trigger",): "goes to the edge",
    ("evidence", "verify"): "is offline",
    ("evidence", "verify-export"): "is offline",
    ("evidence", "report"): "is offline",
    ("evidence", "page"): "is offline",
    ("definitions", "check"): "reads files",
    ("people", "import"): "reads files",
    ("people", "add"): "reads files",
    ("people", "remove"): "reads files",
    ("slack", "manifest"): "reads settings",
    ("slack", "new-key"): "makes a key",
    ("subscriptions", "check"): "reads files",
    ("log", "key"): "reads a file",
    ("log", "rotate"): "writes a file",
}
"""Commands that need no database, and why."""


def _walked(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _walked(inner, (*path, name))


_MADE_ONCE = cache(get_command)
"""The library makes all commands anew for each that is run: that took longer than to run it."""
COMMANDS = dict(_walked(_MADE_ONCE(app), ()))
LEAVES = {path: command for path, command in COMMANDS.items() if not hasattr(command, "commands")}
_ALL = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
_WITH_OPTIONS_ALONE = [p for p, one in COMMANDS.items() if not one.context_settings.get("ignore_unknown_options")]
"""Commands that take no id that may begin with a dash."""
_COUNTED = [path for path, command in LEAVES.items() if all(one.nargs != -1 for one in command.params)]
"""Commands that do not take as many words as are given."""
_NEEDING = [one for one in LEAVES if one not in _WITHOUT_SYSTEM]
_NEED_A_KEY_FIRST = {("evidence", "export"), ("slack", "rekey")}


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def is_a_sentence(self) -> bool:
        return self.err.startswith("countersign: ") and self.err.count("\n") == 1 and not self.out


class Desk:
    """Runs commands in this process, where no system is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def say(self, *words: str) -> Said:
        self._monkeypatch.setattr(sys, "argv", ["countersign", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        told = self._capsys.readouterr()
        return Said(int(ended.value.code or 0), told.out, told.err)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTERSIGN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("typer.main.get_command", _MADE_ONCE)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield Desk(monkeypatch, capsys)
    root.handlers[:] = before
    root.setLevel(level)


def _filled(command: Any, folder: Path) -> Iterator[str]:
    """Give a word for each argument and option that a command needs."""
    for one in command.params:
        if not one.required:
            continue
        if one.param_type_name != "argument":
            yield one.opts[0]
        yield _word(one, folder)


def _word(one: Any, folder: Path) -> str:
    kind = one.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, int):
        return "1"
    if one.metavar == "FILE":
        (folder / "given.json").write_text("{}")
        return str(folder / "given.json")
    return {"DAY": "2026-01-01", "MOMENT": "2026-01-01T00:00:00Z", "DECISION": "approved"}.get(one.metavar, "x1")


@_ALL
def test_help_tells_of_each_argument_option_and_command(path: tuple[str, ...], desk: Desk) -> None:
    told = desk.say(*path, "--help")
    command = COMMANDS[path]
    names = [name for one in command.params for name in (one.opts if one.opts[0].startswith("-") else [one.metavar])]
    assert (told.code, told.err) == (0, "")
    assert [one for one in (*names, *getattr(command, "commands", ())) if one not in told.out] == []


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_names_what_is_to_be_given_in_words_and_not_by_a_type_of_the_language(path: tuple[str, ...]) -> None:
    given = [one for one in LEAVES[path].params if not getattr(one, "is_flag", False)]
    assert [one.name for one in given if not (one.metavar or "").split("|")[0].isupper()] == []


@pytest.mark.parametrize("path", _WITH_OPTIONS_ALONE, ids=" ".join)
def test_an_option_that_there_is_not_is_refused_with_one_sentence(path: tuple[str, ...], desk: Desk) -> None:
    told = desk.say(*path, "--no-such-option")
    assert (told.code, told.is_a_sentence) == (2, True)
    assert told.err.startswith("countersign: no such option: --no-such-option")
    assert " ".join(("`countersign", *path, "--help`")) in told.err


@pytest.mark.parametrize("path", _COUNTED, ids=" ".join)
def test_a_word_too_many_is_refused_with_one_sentence(path: tuple[str, ...], desk: Desk, tmp_path: Path) -> None:
    optional = [one for one in LEAVES[path].params if one.param_type_name == "argument" and not one.required]
    told = desk.say(*path, *_filled(LEAVES[path], tmp_path), *("1" for _ in optional), "one-too-many")
    assert (told.code, told.is_a_sentence, "one-too-many" in told.err) == (2, True, True)


@pytest.mark.parametrize("path", _NEEDING, ids=" ".join)
def test_where_nothing_runs_a_command_says_so_in_one_sentence(
    path: tuple[str, ...], desk: Desk, tmp_path: Path
) -> None:
    told = desk.say(*path, *_named(path), *_filled(LEAVES[path], tmp_path))
    assert (told.code, told.is_a_sentence) == (1, True)
    assert "countersign up`" in told.err


@pytest.mark.parametrize("path", [one for one in _NEEDING if one not in _NEED_A_KEY_FIRST], ids=" ".join)
def test_a_database_that_is_away_is_said_in_one_sentence(
    path: tuple[str, ...], desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _AWAY.items():
        monkeypatch.setenv(name, value)
    told = desk.say(*path, *_named(path), *_filled(LEAVES[path], tmp_path))
    assert told.code == 1
    assert told.err.splitlines()[-1].startswith("countersign: the database cannot be used: ")
    assert "Traceback" not in told.err


_AWAY = {
    "COUNTERSIGN_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "COUNTERSIGN_DIRECTORY_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "COUNTERSIGN_DATABASE_PATIENCE": "0.1",
    "COUNTERSIGN_OPA_URL": "http://127.0.0.1:1",
    "COUNTERSIGN_PUBLIC_URL": "http://localhost:1",
    "COUNTERSIGN_SLACK_CHANNEL": "C0",
    "COUNTERSIGN_SLACK_BOT_TOKEN": "xoxb-0000",
    "COUNTERSIGN_SLACK_SIGNING_SECRETS": '["0123456789abcdef0123456789abcdef"]',
}


def _named(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return which run is meant, where a command leaves open how it is said."""
    if path == ("evidence", "exceptions"):
        return ("--from", "2026-01-01", "--to", "2026-01-01")
    return ("run_0",) if path in {("cancel",), ("evidence", "hold"), ("evidence", "release")} else ()


def test_a_group_without_a_command_prints_its_help(desk: Desk) -> None:
    told = desk.say("runs")
    assert (told.code, told.err) == (2, "")
    assert "List and show runs." in told.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("runs", "list", "--status", "lost"), "'--status': 'lost' is not one of 'queued',"),
        (("dead-letters", "list", "--status", "lost"), "'--status': 'lost' is not one of 'dead_letter',"),
        (("runs", "list", "--limit", "0"), "'--limit': "),
        (("cancel", "--as=omar", "--reason=x"), "name a RUN, or all of a --reference or a --definition"),
        (("cancel", "--as=omar", "--reason=x", "--started-after=noon"), "give a day or a moment: 2026-02-01 or "),
        (("cancel", "run_0"), "missing option '--as' / '--by'"),
        (("lost",), "no such command 'lost'"),
    ],
)
def test_what_is_wrong_is_named_in_our_own_words(words: tuple[str, ...], says: str, desk: Desk) -> None:
    told = desk.say(*words)
    assert (told.code, told.is_a_sentence) == (2, True)
    assert says in told.err
    assert "Value error" not in told.err
