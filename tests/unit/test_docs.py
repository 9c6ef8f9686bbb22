"""The documentation: commands, printed output, controls and pictures are those of the program.

The pages name no command, and no option of one, that there is not.

What the pages print of the program's output is what it prints.

What docs/controls.md names is there: each command with its options, each rule, each file.

The documentation shows the pictures that its tool takes: all of them, no others, and small ones.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.settings import ROOT
from evidence import names
from evidence.export.contents import FILES
from evidence.export.verify import RULES
from evidence.replay import NAME
from evidence.verify.procedure import STEPS
from evidence.verify.verify import FIRST_RULES
from tools.gallery import OF_LINKS, SIZES
from tools.gallery_homes import homes, lists
from tools.gallery_messages import messages
from tools.gallery_modals import modals, pages
from tools.samples import SAMPLES
from tools.screenshots import CASE, GALLERY, SIZE_LIMIT

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


def test_the_digests_of_shipped_runbooks_on_the_authors_page_are_theirs() -> None:
    page = (ROOT / "docs/workflow-author.md").read_text(encoding="utf-8")
    shown = re.findall(r"^[a-z-]+ v\d+  [0-9a-f]{12}  \d+ steps$", page, re.MULTILINE)
    packs = {"COUNTERSIGN_PACKS": f'["{ROOT}/packs/kyc", "{ROOT}/packs/incident-triage"]'}
    told = CliRunner().invoke(app, ["definitions", "check"], env=packs).stdout.splitlines()
    assert shown == told


CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs/controls.md").read_text(encoding="utf-8")
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
    return (
        text in CHECKS | FILES
        or names.is_member(text)
        or (CHECKOUT / text).exists()
        or (CHECKOUT / "packs" / text).is_dir()
    )


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


PICTURES_ROOT = Path(__file__).resolve().parents[2]
IMAGES = PICTURES_ROOT / "docs/images"


def test_each_picture_is_one_that_the_tool_takes_and_each_that_it_takes_is_there() -> None:
    assert {file.stem for file in IMAGES.glob("*.png")} == {*CASE, *GALLERY}
    assert not CASE.keys() & GALLERY.keys()


def test_each_picture_is_shown_in_the_documentation_and_each_that_is_shown_is_there() -> None:
    shown = {
        (page.parent / found).resolve()
        for page in (PICTURES_ROOT / "README.md", *PICTURES_ROOT.glob("docs/*.md"))
        for found in re.findall(r"\]\(([^)]+\.(?:png|svg))\)", page.read_text(encoding="utf-8"))
    }
    assert shown == set(IMAGES.iterdir())


def test_each_picture_has_a_palette_and_is_small() -> None:
    for file in IMAGES.glob("*.png"):
        picture = file.read_bytes()
        assert picture[25] == 3, f"{file.name} has no palette"
        assert len(picture) <= SIZE_LIMIT, file.name


def test_what_is_taken_of_the_gallery_is_in_it_and_no_name_stands_twice() -> None:
    pending, approved = SAMPLES["pending"], SAMPLES["approved"]
    names = [
        *(name for name, _, _ in messages()),
        *(name for name, _ in (*homes(pending, approved), *lists(pending), *modals(), *pages())),
        OF_LINKS,
    ]
    assert len(set(names)) == len(names)
    assert set(GALLERY.values()) <= {f"{name}-{size}" for name in names for size, *_ in SIZES}
