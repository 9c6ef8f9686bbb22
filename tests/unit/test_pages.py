"""Generated pages are what the tool makes of the declarations, and what the pages of the design name is there."""

import re
from pathlib import Path

import pytest

from runtime.model.states import MACHINES
from runtime.store.schema.tables import metadata
from tools import pages
from tools.pages import ROOT, PageError

STATES = (ROOT / pages.STATES).read_text(encoding="utf-8")
DESIGN = ["architecture", "transactions", "states", "tables", "threats"]
LINKED = sorted(
    [*(ROOT / "docs").glob("*.md"), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY"))]
)
NAMED = [*(ROOT / f"docs/{name}.md" for name in DESIGN), ROOT / "CONTRIBUTING.md"]
TASKS = re.findall(
    r"^\| [^|`]+ \| `([^`|]+)` \| `([^`|]+)`",
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## To add X, go to Y")[2].partition("\n## ")[0],
    re.MULTILINE,
)


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages.pages(), ids=lambda page: page.name)
def test_a_generated_page_is_what_the_tool_makes(page: Path) -> None:
    made = pages.pages()[page]
    assert page.read_text(encoding="utf-8") == made, "run `python -m tools.pages`"


@pytest.mark.parametrize("machine", MACHINES)
def test_each_state_says_in_two_to_eight_lines_what_it_means(machine: str) -> None:
    for state in MACHINES[machine]:
        below = rf'class {type(state).__name__}\(.*?^    {state.name} = "\w+"\n    """(.*?)"""$'
        (said,) = re.findall(below, STATES, re.MULTILINE | re.DOTALL)
        assert 2 <= len(said.splitlines()) <= 8, state


def test_a_state_without_an_explanation_is_named() -> None:
    text = re.sub(r'(    QUEUED = "queued"\n)    """.*?"""\n', r"\1", STATES, flags=re.DOTALL)
    with pytest.raises(PageError, match=r"runtime/model/states\.py: RunStatus\.QUEUED has no explanation"):
        pages.states_page(text)


def test_a_table_without_a_comment_is_named() -> None:
    with pytest.raises(PageError, match=r"x_tables\.py: the table runs has no comment above it"):
        pages.tables_page({"x_tables.py": '"""Tables."""\n\nruns = Table(\n    "runs",\n)\n'})


def test_an_architecture_without_its_table_of_folders_is_refused() -> None:
    with pytest.raises(PageError, match=r"docs/architecture\.md has no table of folders"):
        pages.with_folders("# Architecture\n")


def test_each_declared_table_is_on_the_page() -> None:
    declared = [name for text in pages.table_modules().values() for name in pages.comments(text)]
    assert sorted(declared) == sorted(metadata.tables)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_a_link_between_pages_leads_to_a_heading_that_is_there(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*\.md)?(?:#([\w-]+))?\)", page.read_text(encoding="utf-8")):
        to = (page.parent / target).resolve() if target else page
        assert to.is_file(), f"{page.name}: {target}"
        assert not anchor or anchor in _anchors(to), f"{page.name}: {target}#{anchor}"


@pytest.mark.parametrize("page", NAMED, ids=lambda page: page.name)
def test_a_file_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`([\w./-]+/[\w./-]*)`", page.read_text(encoding="utf-8"))
    ours = [name for name in named if (ROOT / name.partition("/")[0]).is_dir()]
    assert [name for name in ours if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(("word", "file"), TASKS)
def test_a_task_is_found_by_a_search_for_its_word(word: str, file: str) -> None:
    found = ROOT / file
    said = "" if found.is_dir() else found.read_text(encoding="utf-8").partition("\n\n")[0]
    assert word in f"{file}\n{said}".lower()


def test_contributing_has_ten_tasks_at_least() -> None:
    assert len(TASKS) >= 10
