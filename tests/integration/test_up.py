"""`countersign up` as its user has it: ports, home and files of its own, cases to bring in, and one end for all."""

import asyncio
import json
import os
import re
import signal
import socket
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from countersign.embedded.ports import free_port
from countersign.settings import ROOT, Settings
from sandbox.harness import SandboxUser
from tests.integration.program_stage import Finished, Program, command, program
from tests.opa_server import opa_program
from tests.patience import MINUTE


@dataclass
class Up:
    """A running `up`: what it said, and its environment."""

    process: Program
    said: list[str]
    env: dict[str, str]
    home: Path

    def line(self, name: str) -> str:
        """Return what was said under a name."""
        return next(line.partition(":")[2].strip() for line in self.said if line.startswith(f"{name}:"))

    @property
    def edge(self) -> str:
        return self.line("Edge").split()[0]

    @property
    def sandbox(self) -> str:
        return self.line("Workspace").partition("/?")[0]


@asynccontextmanager
async def up(home: Path, *arguments: str, env: Mapping[str, str] | None = None) -> AsyncIterator[Up]:
    whole = {"COUNTERSIGN_HOME": str(home), **(env or {})}
    async with program("up", "--sandbox-port=0", *arguments, env=whole) as running:
        assert running.process.stdout
        said = [""]
        async with asyncio.timeout(2 * MINUTE):
            while not said[-1].startswith("Logs:"):
                said.append((await running.process.stdout.readline()).decode())
                assert said[-1], await running.process.communicate()
        yield Up(running, said, {"COUNTERSIGN_HOME": str(home)}, home)


@pytest.fixture(scope="module")
async def system(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    """One that all tests here look at; it was told its port by the setting."""
    home = tmp_path_factory.mktemp("up") / "home"
    async with up(home, "--with-case", env={"COUNTERSIGN_PORT": str(free_port())}) as running:
        yield running
        # ended in the same moment as all its children, as a service manager does it, it starts none of them again
        for pid in await _children(running.process.process.pid):
            os.kill(pid, signal.SIGTERM)
        running.process.process.terminate()
        assert await running.process.ended() == 0
        told = "\n".join(line["message"] for line in running.process.lines)
        assert "starting it again" not in told
        assert "Traceback" not in told


def is_one_sentence(finished: Finished, says: str) -> bool:
    lines = finished.err.splitlines()
    return finished.code == 1 and len(lines) == 1 and lines[0].startswith("countersign: ") and says in lines[0]


async def test_the_doctor_finds_nothing_and_config_says_what_holds(system: Up) -> None:
    doctor, config = await command("doctor", env=system.env), await command("config", env=system.env)
    assert (doctor.code, "FAIL" in doctor.out) == (0, False), doctor.out
    assert "COUNTERSIGN_DATABASE_URL = ********\n    PostgreSQL; from the running `countersign up`\n" in config.out


_BY_MACHINE = (
    (r"(?<=Python |greSQL )[\d.]+", "VERSION"),
    (r"(?<=clock: )\d+\.\d+|(?<=round trip: )[\d.]+", "TIME"),
    (r"\b(?:[0-9a-f]{64}|[0-9a-f]{16})\b", "DIGEST"),
    (r"(?<=localhost:)\d+", "PORT"),
    (r"(?<=sealed: )\d+", "COUNT"),
    (r"(?<=audit log: )[\d,]+ leaves.*", "COUNT"),
)
"""What the doctor's lines say otherwise on each machine and at each moment."""


def _everywhere(text: str, home: str) -> list[str]:
    text = text.replace(f" {home}/", " HOME/")
    for pattern, name in _BY_MACHINE:
        text = re.sub(pattern, name, text)
    return text.splitlines()


async def test_the_operators_page_shows_what_the_doctor_prints(system: Up) -> None:
    page = (ROOT / "docs/operator.md").read_text(encoding="utf-8")
    shown = page.partition("countersign doctor\n```\n\n```\n")[2].partition("```")[0]
    doctor = await command("doctor", env=system.env)
    assert _everywhere(shown, ".countersign") == _everywhere(doctor.out, str(system.home))


async def test_the_port_of_the_settings_is_honoured(system: Up) -> None:
    environ = json.loads((system.home / "running.json").read_text())["env"]
    assert system.edge == f"http://127.0.0.1:{environ['COUNTERSIGN_PORT']}"
    assert system.edge != f"http://127.0.0.1:{Settings().port}"


async def test_policies_are_previewed_by_the_opa_that_decides(system: Up) -> None:
    environ = json.loads((system.home / "running.json").read_text())["env"]
    assert environ["COUNTERSIGN_OPA"] == str(opa_program())


async def test_the_database_and_opa_are_reached_by_sockets_in_its_home(system: Up) -> None:
    environ = json.loads((system.home / "running.json").read_text())["env"]
    assert environ["COUNTERSIGN_OPA_URL"] == f"unix://{system.home}/opa/opa.sock"
    for login in ("COUNTERSIGN_DATABASE_URL", "COUNTERSIGN_DIRECTORY_DATABASE_URL"):
        assert conninfo_to_dict(environ[login])["host"] == f"{system.home}/data/postgres"


def _open_to_others(path: Path) -> int | None:
    """Return what others may do with a file, or None where it is gone by now: some are there for a moment."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o077
    except FileNotFoundError:
        return None


async def test_whatever_it_keeps_its_owner_alone_can_read(system: Up) -> None:
    async with SandboxUser(system.sandbox, "U0ANNA") as anna:
        await anna.say("C0APPROVALS", "something to keep")
    postgres = system.home / "data" / "postgres"
    kept = [path for path in (system.home, *system.home.rglob("*")) if postgres not in path.parents]
    # run by root, PostgreSQL has a user of its own, who has to pass the folders above it, and no more
    passed = {system.home, postgres.parent} if os.geteuid() == 0 else set()
    modes = {path: mode for path in kept if (mode := _open_to_others(path)) is not None}
    assert {path for path, mode in modes.items() if mode} <= passed
    assert all(modes[path] == 0o011 for path in passed)
    assert {"workspace.yaml", "sandbox.json", "countersign.log", "opa.log"} <= {path.name for path in kept}


async def test_a_second_one_in_the_same_home_is_refused_and_leaves_the_first_healthy(system: Up) -> None:
    second = await command("up", "--port=0", "--sandbox-port=0", env=system.env)
    assert is_one_sentence(second, f"another `countersign up` or `demo` runs in {system.home}")
    assert (await command("evidence", "list", env=system.env)).code == 0


async def test_cases_of_every_pack_are_listed_and_brought_in_as_often_as_one_likes(system: Up) -> None:
    listed = await command("case", env=system.env)
    names = [line.partition(":")[0] for line in listed.out.splitlines()]
    assert names == [
        "access-request payments",
        "incident-triage outage",
        "incident-triage vpn",
        "kyc onboarding",
        "kyc incomplete",
    ]
    brought = [await command("case", *words, env=system.env) for words in (["kyc"], ["kyc"], ["incident-triage"])]
    assert [one.code for one in brought] == [0, 0, 0], [one.err for one in brought]
    runs = [re.findall(r"run_\w+", one.out)[0] for one in brought]
    assert len(set(runs)) == 3
    assert "The client uploads the two documents that were asked for." in brought[0].out
    for person, cases in (("U0ANNA", runs[:2]), ("U0IVAN", runs[2:])):
        async with SandboxUser(system.sandbox, person) as user:
            for case in cases:
                await user.find_card(partial(_shows, case))


def _shows(run: str, message: dict[str, Any]) -> bool:
    return run[-8:] in str(message["blocks"])


async def test_one_case_of_each_pack_is_brought_in_from_the_start_if_one_likes(system: Up) -> None:
    assert [line.split()[1] for line in system.said if line.startswith("Case:")] == [
        "access-request",
        "incident-triage",
        "kyc",
    ]


async def test_a_case_that_is_not_there_is_a_sentence_with_those_that_are(system: Up) -> None:
    finished = await command("case", "kyc", "nothing", env=system.env)
    assert finished.code == 1
    assert finished.err.startswith("countersign: there is no case kyc nothing; there are:\n  access-request payments: ")


async def test_the_caller_of_a_trigger_is_named_where_there_are_several(system: Up, tmp_path: Path) -> None:
    finished = await command("trigger", "kyc.onboarding", str(tmp_path / "x"), "--ref", "1", env=system.env)
    assert finished.code == 2
    assert "name one with --caller: access-portal, onboarding-portal, servicenow" in re.sub(
        r"[\s│]+", " ", finished.err
    )


async def test_people_are_loaded_beside_it_by_a_login_that_nothing_that_serves_has(system: Up) -> None:
    file = system.home / "directory.yaml"
    loaded = await command("people", "load", str(file), "--as", "omar", env=system.env)
    assert (loaded.code, loaded.err) == (0, "")
    told = [Path(f"/proc/{pid}/environ").read_bytes() for pid in await _children(system.process.process.pid)]
    assert any(b"COUNTERSIGN_DATABASE_URL=" in one for one in told)
    assert not any(b"COUNTERSIGN_DIRECTORY_DATABASE_URL=" in one for one in told)


@pytest.mark.parametrize(("option", "more"), [("--port", "COUNTERSIGN_PORT"), ("--sandbox-port", "")])
async def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path, option: str, more: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        env = {"COUNTERSIGN_HOME": str(tmp_path / "home")}
        words = {"--port": "0", "--sandbox-port": "0", option: str(port)}
        finished = await command("up", *(f"{name}={value}" for name, value in words.items()), env=env)
    assert is_one_sentence(finished, f"port {port} is in use (Address already in use): stop what listens there")
    assert f"with {option}" in finished.err
    assert more in finished.err
    assert not (tmp_path / "home").exists()


async def test_one_port_for_two_is_refused(tmp_path: Path) -> None:
    port = free_port()
    env = {"COUNTERSIGN_HOME": str(tmp_path / "home")}
    finished = await command("up", f"--port={port}", f"--sandbox-port={port}", env=env)
    assert is_one_sentence(finished, f"--port and --sandbox-port are both {port}: name two")


@pytest.mark.parametrize("option", ["--port", "--sandbox-port"])
async def test_a_port_that_cannot_be_is_a_wrong_use(tmp_path: Path, option: str) -> None:
    finished = await command("up", f"{option}=99999", env={"COUNTERSIGN_HOME": str(tmp_path / "home")})
    assert finished.code == 2
    assert re.search(rf"(?s){option}.*65535", finished.err)
    assert not (tmp_path / "home").exists()


async def test_a_home_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    env = {"COUNTERSIGN_HOME": str(tmp_path / "file" / "home")}
    finished = await command("up", "--port=0", "--sandbox-port=0", env=env)
    assert is_one_sentence(finished, "cannot be written (Not a directory): name another home with COUNTERSIGN_HOME")


@pytest.mark.parametrize(
    "words", [["case", "kyc"], ["evidence", "list"], ["cancel", "run_0", "--reason=x", "--as=omar"]]
)
async def test_where_nothing_runs_commands_say_so(tmp_path: Path, words: list[str]) -> None:
    finished = await command(*words, env={"COUNTERSIGN_HOME": str(tmp_path)})
    assert is_one_sentence(finished, f"nothing runs here, in {tmp_path}: start `countersign up`, or set COUNTERSIGN_")


async def test_a_trigger_where_nothing_runs_says_so(tmp_path: Path) -> None:
    words = ["trigger", "kyc.onboarding", str(tmp_path / "x"), "--ref", "1"]
    finished = await command(*words, env={"COUNTERSIGN_HOME": str(tmp_path)})
    assert is_one_sentence(finished, "nothing runs here")


async def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(one) for one in listed]
