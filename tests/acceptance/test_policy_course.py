"""The course for policy authors, walked: each command of its pages is run on a system with the case, in their order.

What the pages print after commands is what was printed; `…` stands for anything. Edits of files and people's clicks are
read from the pages, too.
"""

import asyncio
import json
import re
import shlex
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.ports import free_port
from sandbox.harness import SandboxUser, messages
from tests.acceptance.conftest import ROOT
from tests.integration.program_stage import Program, program
from tests.integration.test_up import Up, up
from tests.patience import MINUTE

PAGES = tuple(ROOT / "docs" / name for name in ("policy-author.md", "policy-rules.md"))
PROGRAM = ".venv/bin/countersign"
BY_THE_FIXTURE = {"make up ARGS=--with-case"}
"""What is not run as it stands: the fixture runs `countersign up --with-case`, at ports and in a home of its own."""
BESIDE = f"{PROGRAM} policy shadow run"
"""What has a terminal of its own until the page says to end it."""
REPEATED = (f"{PROGRAM} policy shadow show", f"{PROGRAM} policy list")
"""What shows the work of others, who may not have done it when it is asked first."""
FILES = ("cp", "rm")
TMP = "/tmp/"  # noqa: S108 - as the pages say; the walk has a folder of its own instead
PEOPLE = {"Anna": "U0ANNA", "Sam": "U0SAM"}
PATIENCE = 5 * MINUTE
"""For what takes some seconds: the machine may be busy with others."""

_BODY = r"(?:(?!```).*\n)+"
STEP = re.compile(
    rf"""
    ^```sh\n(?P<commands>{_BODY})```\n (?:\n```\n(?P<printed>{_BODY})```\n)?
    | ^Make\ the\ file\ `(?P<made>/tmp/\S+)`:\n\n```rego\n(?P<text>{_BODY})```
    | ^Add\ these\ two\ members\ at\ the\ top\ of\ `(?P<config>/tmp/\S+)`:\n\n```json\n(?P<members>{_BODY})```
    | ^In\ `(?P<edited>/tmp/\S+)`\ add\ three\ lines:\n\n\|\ after.*\n\|.*\n(?P<rows>(?:\|.*\n)+)
    | ^-\ (?P<approver>\w+)\ approves\ “(?P<approved>.+?)”
    | ^-\ (?P<reader>\w+)\ sees\ “(?P<shown>.+?)”,\ (?P<votes>\d\ of\ \d)
    | (?P<ended>End\ this\ one\ with\ Ctrl-C)
    """,
    re.MULTILINE | re.VERBOSE,
)


def steps() -> Iterator[dict[str, str]]:
    """Yield what the pages have their reader do, in order, each with the paragraph that follows."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in STEP.finditer(text):
            said = {name: value for name, value in found.groupdict().items() if value is not None}
            yield {**said, "after": text[found.end() :].lstrip().partition("\n\n")[0]}


def fits(printed: str, page: str) -> bool:
    """Return whether a page shows what was printed; the widths of columns do not count."""
    lines = [r"(?:.*\n)*?" if line == "…" else f"{_pattern(line)}\n" for line in _lines(page)]
    return re.fullmatch("".join(lines), "".join(f"{line}\n" for line in _lines(printed))) is not None


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.split("…")))


@dataclass
class Walk:
    """Somebody who takes the course, with files in a folder where the pages say `/tmp`."""

    system: Up
    folder: Path
    people: dict[str, SandboxUser]
    stack: AsyncExitStack
    run_id: str = ""
    beside: Program | None = None

    async def take(self, step: dict[str, str]) -> None:
        """Do one step of the course."""
        match step:
            case {"commands": commands}:
                await self._run(commands.splitlines(), step.get("printed"), 1 if _fails(step) else 0)
            case {"made": name, "text": text}:
                self._at(name).write_text(text, encoding="utf-8")
            case {"config": name, "members": members}:
                config = json.loads(members) | json.loads(self._at(name).read_text(encoding="utf-8"))
                self._at(name).write_text(json.dumps(config, indent=2), encoding="utf-8")
            case {"edited": name, "rows": rows}:
                self._add_lines(self._at(name), rows)
            case {"approver": name, "approved": title}:
                await self._approve(self.people[name], title)
            case {"reader": name, "shown": title, "votes": votes}:
                await self.people[name].find_card(lambda card: _says(card, title, f"({votes} approvals)"), PATIENCE)
            case {"ended": _}:
                await self._end()

    async def _run(self, commands: list[str], page: str | None, code: int) -> None:
        """Run the commands of a block; the last one ends with a code, the others well."""
        said = ""
        for number, line in enumerate(commands, 1):
            if line in BY_THE_FIXTURE:
                continue
            ends_with = code if number == len(commands) else 0
            if line.startswith(REPEATED):
                assert page is not None
                said += await self._until_fits(line, page)
            elif line.startswith(BESIDE):
                said += await self._start(line)
            else:
                said += await self._said(line, ends_with)
        assert page is None or fits(said, page), f"{commands} printed\n{said}\nand the page says\n{page}"

    async def _said(self, line: str, code: int) -> str:
        """Run one command to its end; return what it printed."""
        first, *words = self._words(line)
        if first in FILES:
            copying = await asyncio.create_subprocess_exec(first, *words, cwd=ROOT)
            assert await copying.wait() == 0, line
            return ""
        assert first == PROGRAM, f"nobody runs {line}"
        async with program(*words, env=self.system.env) as running, asyncio.timeout(PATIENCE):
            out, err = await running.process.communicate()
        assert running.process.returncode == code, f"{line} ended with {running.process.returncode}:\n{out!r}\n{err!r}"
        said = out.decode().replace(f"{self.folder}/", TMP)
        if words[:2] == ["runs", "list"]:
            self.run_id = re.findall(r"run_[0-9a-f]+", said)[-1]
        return said

    async def _until_fits(self, line: str, page: str) -> str:
        said = ""
        try:
            async with asyncio.timeout(PATIENCE):
                while not fits(said := await self._said(line, 0), page):
                    pass
        except TimeoutError:
            raise AssertionError(f"{line} printed at last\n{said}\nand the page says\n{page}") from None
        return said

    async def _start(self, line: str) -> str:
        """Start what runs beside the course; return its first line."""
        self.beside = await self.stack.enter_async_context(program(*self._words(line)[1:], env=self.system.env))
        async with asyncio.timeout(PATIENCE):
            return (await self.beside.process.stdout.readline()).decode()

    async def _end(self) -> None:
        assert self.beside
        self.beside.process.send_signal(signal.SIGINT)
        assert await self.beside.ended() == 0

    async def _approve(self, user: SandboxUser, title: str) -> None:
        card = await user.find_card(lambda card: _says(card, title) and "_approve" in str(card["blocks"]), PATIENCE)

        def answered(state: dict[str, Any]) -> str:
            if state["modal"]:
                return "asks for a reason"
            changed = [one for one in messages(state) if one["ts"] == card["ts"] and one["text"] != card["text"]]
            return "counted" if changed else ""

        await user.click(card, "countersign_approve")
        if await user.wait_for(answered, PATIENCE) == "asks for a reason":
            await user.submit({"reason": "Checked."})

    def _add_lines(self, file: Path, rows: str) -> None:
        """Add each line of a table after the one that the table names, as far indented."""
        lines = file.read_text(encoding="utf-8").splitlines()
        for after, added in re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", rows, re.MULTILINE):
            [place] = [number for number, line in enumerate(lines) if line.strip() == after]
            lines.insert(place + 1, lines[place].replace(after, added))
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def _words(self, line: str) -> list[str]:
        words = shlex.split(line.replace(TMP, f"{self.folder}/"))
        return [self.run_id if word == "RUN" else word for word in words]

    def _at(self, name: str) -> Path:
        return self.folder / name.removeprefix(TMP)


def _fails(step: dict[str, str]) -> bool:
    """Return whether the page says after a block that its last command does not end well."""
    return "exits with 1" in step["after"]


def _says(card: dict[str, Any], *words: str) -> bool:
    return all(one in card["text"] for one in words)


@asynccontextmanager
async def beginner(folder: Path) -> AsyncIterator[Walk]:
    """Start a system with the case, and somebody who has never seen it."""
    async with AsyncExitStack() as stack:
        ports = {"COUNTERSIGN_PORT": str(free_port())}
        system = await stack.enter_async_context(up(folder / "home", "--with-case", env=ports))
        people = {
            name: await stack.enter_async_context(SandboxUser(system.sandbox, user)) for name, user in PEOPLE.items()
        }
        try:
            yield Walk(system, folder, people, stack)
        finally:
            system.process.process.terminate()  # killed, it would leave its database behind
            ended = await system.process.ended()
        assert ended == 0


async def test_each_command_of_the_course_prints_what_its_page_says(tmp_path: Path) -> None:
    async with beginner(tmp_path) as walk:
        for step in steps():
            await walk.take(step)


def test_each_block_of_commands_and_each_click_is_a_step_of_the_walk() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    taken = list(steps())
    for words, kind in (("```sh\n", "commands"), (" approves “", "approver"), (" sees “", "reader")):
        assert pages.count(words) == sum(kind in step for step in taken) > 0
    assert [sum(kind in step for step in taken) for kind in ("made", "config", "edited", "ended")] == [2, 1, 1, 1]


def test_the_lessons_take_an_hour() -> None:
    page = PAGES[0].read_text(encoding="utf-8")
    table = [int(minutes) for minutes in re.findall(r"^\| \[\d\]\(.+\) \| .+ \| (\d+) \|$", page, re.MULTILINE)]
    assert (len(table), sum(table)) == (6, 60)
    assert [int(minutes) for minutes in re.findall(r"^\*Goal: .+?(\d+) minutes\.\*", page, re.MULTILINE)] == table


@pytest.mark.parametrize(
    ("printed", "page"),
    [
        ("a  b\nc\n", "a b\nc"),
        ("a\nb\nc\nd\n", "a\n…\nd"),
        ("a\nd\n", "a\n…\nd"),
        ("quorum: 3, x\n", "quorum: …"),
    ],
)
def test_a_page_may_leave_out_what_differs_each_time(printed: str, page: str) -> None:
    assert fits(printed, page)


@pytest.mark.parametrize(
    ("printed", "page"),
    [("quorum: 2\n", "quorum: 3"), ("a\nb\n", "a"), ("a\n", "a\nb"), ("a\nb\n", "…\nc"), ("axb\n", "a.b")],
)
def test_what_is_printed_otherwise_than_a_page_says_is_found(printed: str, page: str) -> None:
    assert not fits(printed, page)
