"""What docs/controls.md names is there: each command with its options, each rule, each file."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from countersign.cli.app import app
from evidence import names
from evidence.export.contents import FILES
from evidence.export.verify import RULES
from evidence.replay import NAME
from evidence.verify.procedure import STEPS
from evidence.verify.verify import FIRST_RULES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/controls.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)) - {"sh"})
EXAMPLES = [line for line in PAGE.split("```sh\n")[1].split("```")[0].splitlines() if line]

CHECKS = {NAME, *FIRST_RULES, *(rule.name for rule in RULES)}
for step in STEPS:
    CHECKS |= {rule.name for rule in step.rules} | {rule.name for rule in step.bound}


def _found(words: list[str]) -> Any:
    """Return the command, or the group, that words name; raise KeyError."""
    command: Any = get_command(app)
    for word in words:
        if not hasattr(command, "commands"):
            break
        command = command.commands[word]
    return command


def _is_command(text: str) -> bool:
    words = text.split()[1:]
    try:
        command = _found(words)
    except KeyError:
        return False
    known = {option for parameter in command.params for option in parameter.opts}
    return not hasattr(command, "commands") and {word for word in words if word.startswith("-")} <= known


def _is_known(text: str) -> bool:
    if text.startswith("countersign "):
        return _is_command(text)
    is_member = any(names.is_member(text, version) for version in (1, 2))
    return text in CHECKS | FILES or is_member or (ROOT / text).exists() or (ROOT / "packs" / text).is_dir()


@pytest.mark.parametrize("text", NAMED)
def test_what_the_page_names_is_there(text: str) -> None:
    assert _is_known(text)


@pytest.mark.parametrize("line", EXAMPLES)
def test_its_examples_are_commands_with_all_that_they_need(line: str) -> None:
    assert _is_command(line)
    words = line.split()
    params = _found(words[1:]).params
    wanted = [parameter.opts for parameter in params if parameter.required and parameter.opts[0][0] == "-"]
    assert all(set(opts) & set(words) for opts in wanted)


@pytest.mark.parametrize(
    "text",
    [
        "countersign evidence find",
        "countersign evidence list --colour",
        "countersign evidence",
        "votes.nice",
        "docs/x.md",
    ],
)
def test_what_is_not_there_is_not_known(text: str) -> None:
    assert not _is_known(text)


@pytest.mark.parametrize("framework", ["SOC 2", "ISO/IEC 27001:2022", "DORA", "EU AI Act", "21 CFR Part 11"])
def test_each_framework_has_rows_that_say_what_is_shown_and_what_is_not(framework: str) -> None:
    (section,) = re.findall(rf"^## {re.escape(framework)}[^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 5
    assert all("`" in row[2] and row[3] for row in rows)
