"""The pages name no command, and no option of one, that there is not."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from countersign.cli.app import app
from countersign.settings import ROOT

PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])
_BLOCK = re.compile(r"^```(?:sh|console|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(countersign (?!ended with)[^`]+)`")
_NOT_OURS = re.compile(r"[|;&<>→]|\s#|…")
"""What ends a command: a pipe, a comment, or that the rest is left out."""


def _said(page: Path) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.search(r"(?:^|\s|/)(countersign .*)", line.split(" # ")[0])
            if found and not line.lstrip().startswith("#"):
                yield found[1]
    yield from (one.replace("\n", " ") for one in _INLINE.findall(text))


@cache
def _program() -> Any:
    """Return the program with all its commands: making it takes longer than reading all pages."""
    return get_command(app)


def _faults(line: str) -> Iterator[str]:
    command = _program()
    words = _NOT_OURS.split(re.sub(r"['\"\[\]]", "", line))[0].split()[1:]
    while words and not words[0].startswith("-") and (inner := getattr(command, "commands", None)):
        name = words.pop(0)
        if not name.isupper() and name not in inner and "|" not in name:
            yield f"{line}: there is no command {name}"
            return
        command = inner.get(name, command)
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        if word.startswith("--") and word.partition("=")[0] not in {*known, "--help"}:
            yield f"{line}: there is no option {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_no_command_and_no_option_that_there_is_not(page: Path) -> None:
    assert [fault for line in _said(page) for fault in _faults(line)] == []


def test_what_there_is_not_is_found() -> None:
    assert list(_faults("countersign people lost --json")) == [
        "countersign people lost --json: there is no command lost"
    ]
    assert list(_faults("countersign people list --jsn")) == ["countersign people list --jsn: there is no option --jsn"]
    assert list(_faults("countersign runs show RUN --json | jq .")) == []


def test_a_wheel_is_installed_apart_from_the_packages_that_have_hashes() -> None:
    lines = [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()]
    installs = [line for line in lines if line.startswith("pip install")]
    assert any("requirements.lock" in line for line in installs)
    assert any(".whl" in line and "--no-deps" in line for line in installs)
    assert [line for line in installs if "requirements.lock" in line and ".whl" in line] == []
