"""The command line: every command, its help, its tables and the doctor's hints.

Every command that the parser knows, walked over: a new one is covered by itself.

Its help tells of each argument and option; what it does not know is refused; and without a system it says so. Each of
these is one sentence.

The command line helps: each command, argument and option says in a sentence what it is for.

`runs show`: steps as the runbook reads, and few lines for what is as it should be. Tables show data as it is.

The hint of doctor is that of the cause, in the words in which servers tell it.
"""

import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from countersign.cli.app import app, main
from countersign.cli.command import show_rows
from countersign.cli.run_view import in_few_lines
from countersign.doctor.diagnosis import remedy_of

_WITHOUT_SYSTEM = {
    ("case",): "lists the cases of the packs",
    ("up",): "makes a system",
    ("demo",): "makes a system",
    ("witness",): "is a program of its own",
    ("bucket",): "is about the bucket alone",
    ("config",): "tells the settings",
    ("doctor",): "tells of each part",
    ("trigger",): "goes to the edge",
    ("runs", "trigger"): "goes to the edge",
    ("evidence", "verify"): "is offline",
    ("evidence", "verify-export"): "is offline",
    ("evidence", "report"): "is offline",
    ("evidence", "page"): "is offline",
    ("definitions", "check"): "reads files",
    ("policy", "check"): "reads files",
    ("policy", "test"): "reads files",
    ("policy", "fmt"): "reads files",
    ("policy", "lint"): "looks into files alone where there is no database",
    ("policy", "diff"): "reads files, unless a digest is named",
    ("policy", "try"): "takes what is made up too",
    ("policy", "build"): "reads files",
    ("policy", "verify"): "reads files",
    ("policy", "opa-config"): "reads files",
    ("people", "import"): "reads files",
    ("people", "add"): "reads files",
    ("people", "remove"): "reads files",
    ("slack", "manifest"): "reads settings",
    ("slack", "new-key"): "makes a key",
    ("subscriptions", "check"): "reads files",
    ("log", "key"): "reads a file",
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
_WITH_OPTIONS_ALONE = [p for p, one in COMMANDS.items() if not one.context_settings.get("ignore_unknown_options")]
"""Commands that take no id that may begin with a dash."""
_COUNTED = [path for path, command in LEAVES.items() if all(one.nargs != -1 for one in command.params)]
"""Commands that do not take as many words as are given."""
_NEEDING = [one for one in LEAVES if one not in _WITHOUT_SYSTEM]
_NEED_ANOTHER_THING_FIRST = {
    ("evidence", "export"),
    ("slack", "rekey"),
    ("policy", "backtest"),
    ("policy", "coverage"),
    ("policy", "propose"),
    ("policy", "shadow", "run"),
}


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
    return {"DAY": "2026-01-01", "WHEN": "2026-01-01", "DECISION": "approved"}.get(one.metavar, "x1")


def test_help_tells_of_each_argument_option_and_command(desk: Desk) -> None:
    for path, command in COMMANDS.items():
        told = desk.say(*path, "--help")
        given = ((one.opts if one.opts[0].startswith("-") else [one.metavar]) for one in command.params)
        every = [*(name for names in given for name in names), *getattr(command, "commands", ())]
        assert (path, told.code, told.err) == (path, 0, "")
        assert (path, [one for one in every if one not in told.out]) == (path, [])


def test_help_names_what_is_to_be_given_in_words_and_not_by_a_type_of_the_language() -> None:
    given = [(path, one) for path, leaf in LEAVES.items() for one in leaf.params if not getattr(one, "is_flag", False)]
    assert [(path, one.name) for path, one in given if not (one.metavar or "").split("|")[0].isupper()] == []


def test_an_option_that_there_is_not_is_refused_with_one_sentence(desk: Desk) -> None:
    for path in _WITH_OPTIONS_ALONE:
        told = desk.say(*path, "--no-such-option")
        assert (path, told.code, told.is_a_sentence) == (path, 2, True)
        assert told.err.startswith("countersign: no such option: --no-such-option"), path
        assert " ".join(("`countersign", *path, "--help`")) in told.err


def test_a_word_too_many_is_refused_with_one_sentence(desk: Desk, tmp_path: Path) -> None:
    for path in _COUNTED:
        optional = [one for one in LEAVES[path].params if one.param_type_name == "argument" and not one.required]
        told = desk.say(*path, *_filled(LEAVES[path], tmp_path), *("1" for _ in optional), "one-too-many")
        assert (path, told.code, told.is_a_sentence, "one-too-many" in told.err) == (path, 2, True, True)


@pytest.mark.parametrize("path", _NEEDING, ids=" ".join)
def test_where_nothing_runs_a_command_says_so_in_one_sentence(
    path: tuple[str, ...], desk: Desk, tmp_path: Path
) -> None:
    told = desk.say(*path, *_named(path), *_filled(LEAVES[path], tmp_path))
    assert (told.code, told.is_a_sentence) == (1, True)
    assert "countersign up`" in told.err


@pytest.mark.parametrize("path", [one for one in _NEEDING if one not in _NEED_ANOTHER_THING_FIRST], ids=" ".join)
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
    of_a_period = {("evidence", "approvals"), ("evidence", "exceptions")}
    if path in of_a_period:
        return ("--since", "2026-01-01", "--until", "2026-01-01")
    of_a_run = {("cancel",), ("runs", "cancel"), ("evidence", "hold"), ("evidence", "release")}
    return ("run_0",) if path in of_a_run else ()


def test_a_group_without_a_command_prints_its_help(desk: Desk) -> None:
    told = desk.say("runs")
    assert (told.code, told.err) == (2, "")
    assert "List, show, start, cancel, undo, retry, signal and replay runs." in told.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("runs", "list", "--status", "lost"), "'--status': 'lost' is not one of 'queued',"),
        (("dead-letters", "list", "--status", "lost"), "'--status': 'lost' is not one of 'dead_letter',"),
        (("runs", "list", "--limit", "0"), "'--limit': "),
        (("cancel", "--as=omar", "--reason=x"), "name a RUN, or the runs of a --reference or a --definition"),
        (("cancel", "--as=omar", "--reason=x", "--since=noon"), "noon is no day, moment or duration: 2026-02-01, "),
        (("runs", "list", "--since=2026-02-02", "--until=2026-02-01"), "2026-02-02 00:00:00 UTC is not before the end"),
        (("evidence", "approvals", "--since=P7D"), "give --since and --until"),
        (("cancel", "run_0"), "missing option '--as'"),
        (("lost",), "no such command 'lost'"),
    ],
)
def test_what_is_wrong_is_named_in_our_own_words(words: tuple[str, ...], says: str, desk: Desk) -> None:
    told = desk.say(*words)
    assert (told.code, told.is_a_sentence) == (2, True)
    assert says in told.err
    assert "Value error" not in told.err


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, f"{path} {name}")


@pytest.fixture(scope="module")
def commands() -> list[tuple[str, Any]]:
    """Every command, behind its words."""
    return list(_commands(get_command(app), "countersign"))


def _is_sentence(text: str | None) -> bool:
    first = (text or "").strip().partition("\n\n")[0]
    return len(first.split()) > 1 and first[0].isupper() and first.endswith(".")


def test_every_command_says_in_a_sentence_what_it_does(commands: list[tuple[str, Any]]) -> None:
    assert [path for path, command in commands if not _is_sentence(command.help)] == []


def test_every_argument_and_option_says_in_a_sentence_what_it_is_for(commands: list[tuple[str, Any]]) -> None:
    silent = [
        f"{path} {parameter.name}"
        for path, command in commands
        for parameter in command.params
        if parameter.name != "help" and not _is_sentence(getattr(parameter, "help", None))
    ]
    assert silent == []


def test_it_says_its_version() -> None:
    told = CliRunner().invoke(app, ["--version"])
    assert (told.exit_code, told.output) == (0, f"countersign {version('countersign')}\n")


def test_runs_are_listed_without_what_carries_them_out_or_keeps_their_evidence() -> None:
    parts = ("countersign.cli.evidence_queries", "countersign.cli.operate", "countersign.doctor.unsealed")
    heavy = ("runtime.worker", "runtime.planning", "evidence.build", "evidence.sealer", "cel", "slack_sdk")
    script = f"import sys, {', '.join(parts)}; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_expressions_come_without_the_command_line_of_their_library() -> None:
    script = (
        "import sys, runtime.definitions.cel.expressions; print('cel' in sys.modules, 'prompt_toolkit' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "True False\n"


def _step(path: str, status: str = "succeeded", version: int = 0) -> dict[str, Any]:
    return {"path": path, "status": status, "verb": "note", "version": version, "error": ""}


def _shown(*steps: dict[str, Any]) -> list[str]:
    return [row["path"] for row in in_few_lines(steps)]


def _rounds(count: int, **last: Any) -> list[dict[str, Any]]:
    """Return a repeat of two steps as the store orders them: by their node, then by iteration."""
    return [
        _step("each"),
        *(_step(f"each[{number}]") for number in range(count)),
        *(_step(f"each[{number}].look") for number in range(count)),
        *(_step(f"each[{number}].write", **(last if number == count - 1 else {})) for number in range(count)),
        _step("after"),
    ]


def test_a_step_stands_behind_the_one_that_it_stands_in() -> None:
    nodes = [_step("route"), _step("last"), _step("route.second"), _step("route.first"), _step("route.second.failure")]
    assert _shown(*nodes) == ["route", "route.second", "route.second.failure", "route.first", "last"]


def test_iterations_that_ended_well_are_one_line() -> None:
    rows = in_few_lines(_rounds(100))
    assert [row["path"] for row in rows] == ["each", "each[0] to [99]", "after"]
    assert (rows[1]["status"], rows[1]["verb"]) == ("succeeded", "300 steps")


def test_an_iteration_that_did_not_end_well_is_shown_in_full_and_with_it_what_a_person_let_go_on() -> None:
    assert _shown(*_rounds(12, status="needs_attention"))[1:-1] == [
        "each[0] to [10]",
        "each[11]",
        "each[11].look",
        "each[11].write",
    ]
    assert _shown(*_rounds(1, status="skipped", version=1)) == [
        "each",
        "each[0]",
        "each[0].look",
        "each[0].write",
        "after",
    ]
    assert _shown(*_rounds(2, status="skipped")) == ["each", "each[0] to [1]", "after"]


def test_an_iteration_inside_one_that_goes_on_is_one_line_of_its_own() -> None:
    steps = [
        _step("out", "parked"),
        _step("out[0]", "parked"),
        _step("out[0].in", "parked"),
        *(_step(f"out[0].in[{number}]") for number in (0, 1)),
        _step("out[0].in[2]", "parked"),
        *(_step(f"out[0].in[{number}].look") for number in (0, 1)),
        _step("out[0].in[2].look", "running"),
    ]
    assert _shown(*steps)[3:] == ["out[0].in[0] to [1]", "out[0].in[2]", "out[0].in[2].look"]


def test_a_value_between_colons_is_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([{"reference": "access:three:rita"}], ["reference"])
    assert "access:three:rita" in capsys.readouterr().out


OPA = "policy unavailable: OPA at http://opa:8181: "
OPA_SOCKET = "policy unavailable: OPA at unix:///o: "


@pytest.mark.parametrize(
    ("why", "names"),
    [
        ("the database cannot be used: FATAL:  unsupported startup parameter: options", "COUNTERSIGN_DATABASE_POOLER"),
        ('connection failed: FATAL:  password authentication failed for user "u"', "a user and password"),
        ('connection failed: FATAL:  database "countersign" does not exist', "Create the database"),
        ('relation "runs" does not exist', "countersign migrate"),
        ("FATAL:  sorry, too many clients already", "COUNTERSIGN_DATABASE_CONNECTIONS"),
        (f"{OPA}HTTP status 401: it wants a token, or another one", "COUNTERSIGN_OPA_TOKEN"),
        (f"{OPA}Cannot connect to host opa:8181 [SSLCertVerificationError: certificate]", "COUNTERSIGN_OPA_CA"),
        (f"{OPA}no answer within 500 ms", "COUNTERSIGN_OPA_TIMEOUT"),
        (
            f"{OPA_SOCKET}Cannot connect to unix socket /o ssl:default [No such file or directory]",
            "COUNTERSIGN_OPA_URL",
        ),
        (f"{OPA_SOCKET}Cannot connect to unix socket /o ssl:default [Permission denied]", "--unix-socket-perm"),
        (f"{OPA}result: undefined", "countersign policy build"),
        ("COUNTERSIGN_SLACK_CHANNEL is not set", "the setting that the message names"),
    ],
)
def test_the_cause_decides_the_hint(why: str, names: str) -> None:
    assert names in remedy_of(why, "something else")


def test_a_cause_that_is_not_known_has_the_hint_of_its_check() -> None:
    assert remedy_of("something odd", "Look at it.") == "Look at it."
