"""The command line helps: each command, argument and option says in a sentence what it is for."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from countersign.cli.app import app


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
