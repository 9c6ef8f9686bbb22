"""The supervised OPA: it follows its folder, keeps the old policy when the new one is bad, and comes back."""

import asyncio
import io
import logging
import os
import shutil
import signal
import stat
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.embedded.children import Supervisor
from countersign.embedded.home import HomeError
from countersign.embedded.opa import OpaChild
from policy.address import socket_path
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from policy.contract import Outcome, PolicyUnavailableError, Verdict
from policy.errors import PolicyError
from tests.opa_server import PACKS, POLICIES, SHIPPED, copy_policies, opa_program, question, session_at, start_opa
from tests.patience import MINUTE, until


class Heard(logging.Handler):
    """Hands over what the supervisor says, as it says it."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.said: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.put_nowait(record.getMessage())

    async def until(self, words: str) -> list[str]:
        """Return what was said up to the first line with these words."""
        lines: list[str] = []
        async with asyncio.timeout(MINUTE):
            while not lines or words not in lines[-1]:
                lines.append(await self.said.get())
        return lines


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler, logger = Heard(), logging.getLogger("countersign.embedded.opa")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.setLevel(level)
    logger.removeHandler(handler)


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    return copy_policies(tmp_path / "rego")


@asynccontextmanager
async def running(policies: Path, tmp_path: Path) -> AsyncIterator[tuple[OpaChild, OpaEngine]]:
    async with start_opa(policies, tmp_path / "work") as child, OpaEngine(child.url, timeout=MINUTE) as engine:
        yield child, engine


@dataclass(frozen=True)
class Followed:
    """A folder of policies and the OPA that follows it."""

    policies: Path
    child: OpaChild
    engine: OpaEngine

    async def genuine(self) -> Verdict:
        """Wait until what a test edited is undone, and return the answer."""
        return await verdict_of(self.engine, read_policy(PolicyFolders(self.policies, PACKS)).digest)


@pytest.fixture(scope="module")
async def followed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Followed]:
    """An OPA for the tests that put back what they edit."""
    folder = tmp_path_factory.mktemp("followed")
    policies = copy_policies(folder / "rego")
    async with running(policies, folder) as (child, engine):
        yield Followed(policies, child, engine)


async def verdict_of(engine: OpaEngine, digest: str) -> Verdict:
    """Ask until the policy with this digest answers."""
    found: list[Verdict] = []

    async def is_served() -> bool:
        with suppress(PolicyUnavailableError):
            found.append(await engine.ask(question()))
        return bool(found) and found[-1].policy_digest == digest

    await until(is_served)
    return found[-1]


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@contextmanager
def edited(file: Path, old: str, new: str) -> Iterator[None]:
    """Edit a file for as long as the block lasts."""
    text = file.read_text()
    edit(file, old, new)
    try:
        yield
    finally:
        file.write_text(text)


def configuration(policies: Path) -> Path:
    return policies / "countersign_config" / "acme" / "data.json"


async def test_edited_configuration_takes_effect(followed: Followed) -> None:
    before = await followed.genuine()
    folders = PolicyFolders(followed.policies, PACKS)
    with edited(configuration(followed.policies), '"quorum": 2', '"quorum": 3'):
        after = await verdict_of(followed.engine, read_policy(folders).digest)
    assert after.answer.requirement is not None
    assert after.answer.requirement.quorum == 3
    assert after.policy_digest != before.policy_digest
    assert '"quorum":2' in followed.engine.text(before.policy_digest).files["countersign_config/data.json"]


async def test_edited_rule_takes_effect(followed: Followed) -> None:
    folders = PolicyFolders(followed.policies, PACKS)
    with edited(followed.policies / "countersign/limits.rego", "permitted if {", "permitted if {\n\tfalse"):
        after = await verdict_of(followed.engine, read_policy(folders).digest)
    assert after.answer.outcome is Outcome.DENY
    assert [reason.code for reason in after.answer.reasons] == ["limits.writes_per_run"]


async def test_edited_rule_of_a_pack_takes_effect(tmp_path: Path) -> None:
    incidents = next(folder for folder in PACKS if folder.name == "incident-triage")
    pack = shutil.copytree(incidents, tmp_path / "packs" / incidents.name)
    folders = PolicyFolders(POLICIES, (pack,))
    urgent = question(connector="servicenow", operation="assign", target="incident:1", tier="medium", fields={})
    async with (
        OpaChild(opa_program(), folders, tmp_path / "work", Supervisor(), poll=0.05) as child,
        OpaEngine(child.url, timeout=MINUTE) as engine,
    ):
        assert (await engine.ask(urgent)).answer.outcome is Outcome.NEEDS_APPROVAL
        edit(pack / "rego/servicenow.rego", "routine if tiers.effective ==", "routine if tiers.effective !=")
        await verdict_of(engine, read_policy(folders).digest)
        assert (await engine.ask(urgent)).answer.outcome is Outcome.ALLOW


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("countersign/tiers.rego", "default effective :=", "default effective {", "rego_parse_error"),
        ("countersign/tiers.rego", "input.effect.tier", "input.effect.teer", "rego_type_error"),
        ("countersign/decision.rego", '"deny"', '"denied"', "answers an empty question"),
        ("countersign/decision.rego", '"allow"', '"maybe"', "acme: portal::request_documents: answer.outcome"),
        (
            "countersign/approvals.rego",
            '{"exclude":',
            '{"barred":',
            "file_report: answer.requirement.exclude: Field",
        ),
        ("countersign_config/acme/data.json", '"quorum": 2', '"quorum": 0', "acme: requirements.high.quorum"),
        ("countersign_config/acme/data.json", '"quorum": 2', '"quorum" 2', "acme/data.json: Expecting"),
    ],
)
async def test_bad_edit_keeps_the_old_policy_and_is_told_once(
    followed: Followed, heard: Heard, name: str, old: str, new: str, said: str
) -> None:
    before = await followed.genuine()
    with edited(followed.policies / name, old, new):
        assert said in (await heard.until("the old one stays"))[-1]
        os.kill(followed.child.pid or 0, signal.SIGKILL)
        again = await verdict_of(followed.engine, before.policy_digest)
        assert again.answer == before.answer
    told = await heard.until("serving policy")
    assert not [line for line in told if "the old one stays" in line]


async def test_changes_are_followed_after_a_refusal_that_could_not_be_written(
    policies: Path, tmp_path: Path, heard: Heard
) -> None:
    async with running(policies, tmp_path) as (_, engine):
        (tmp_path / "work/refused.txt").mkdir()  # nothing can be written there
        with edited(configuration(policies), '"quorum": 2', '"quorum": 0'):
            await heard.until("the old one stays")
        (tmp_path / "work/refused.txt").rmdir()
        edit(configuration(policies), '"quorum": 2', '"quorum": 3')
        await verdict_of(engine, read_policy(PolicyFolders(policies, PACKS)).digest)


async def test_killed_server_comes_back_at_the_same_address(followed: Followed) -> None:
    before = await followed.genuine()
    first, url = followed.child.pid or 0, followed.child.url
    os.kill(first, signal.SIGKILL)
    after = await verdict_of(followed.engine, before.policy_digest)
    assert after.answer == before.answer
    assert followed.child.pid != first
    assert followed.child.url == url


async def test_stopped_server_leaves_no_process_and_no_answer(policies: Path, tmp_path: Path) -> None:
    async with running(policies, tmp_path) as (child, engine):
        await child.stop()
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid or 0, 0)
        with pytest.raises(PolicyUnavailableError):
            await engine.ask(question())


async def test_our_user_alone_reaches_it_and_no_port_is_open(followed: Followed) -> None:
    await followed.genuine()
    path = Path(socket_path(followed.child.url) or "")
    mode = path.stat().st_mode
    assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o600)
    if sys.platform == "linux":
        assert _listened_on(followed.child.pid or 0) == []


def _listened_on(pid: int) -> list[str]:
    """Return the lines of the TCP sockets on which a process listens."""
    held = {str(handle.readlink()) for handle in Path(f"/proc/{pid}/fd").iterdir()}
    tables = [Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:] for name in ("tcp", "tcp6")]
    return [line for lines in tables for line in lines if f"socket:[{line.split()[9]}]" in held]


async def test_a_home_whose_path_is_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    work = tmp_path / ("x" * 107)
    with pytest.raises(HomeError, match=r"opa\.sock names a socket whose path has \d+ bytes: .*; name a shorter home"):
        OpaChild(opa_program(), SHIPPED, work, Supervisor())


async def test_nothing_can_be_pushed_beside_the_bundle(followed: Followed) -> None:
    await followed.genuine()
    async with session_at(followed.child.url) as session:
        for path, body in (("/v1/data/added", "{}"), ("/v1/policies/added", "package added")):
            async with session.put(path, data=body) as response:
                assert response.status == 400
                assert "owned by bundle" in await response.text()


async def test_questions_are_not_logged_by_the_server(tmp_path: Path) -> None:
    async with running(POLICIES, tmp_path):
        pass
    async with running(POLICIES, tmp_path) as (_, engine):
        await engine.ask(question(fields={"secret": "canary"}))
    assert "canary" not in (tmp_path / "work" / "opa.log").read_text()


@pytest.mark.parametrize("name", ["quorum", "rule"])
async def test_bad_policy_at_the_start_is_an_error(policies: Path, tmp_path: Path, name: str) -> None:
    if name == "quorum":
        edit(configuration(policies), '"quorum": 2', '"quorum": -1')
    else:
        edit(policies / "countersign/duties.rego", "sort(", "sorted(")
    with pytest.raises(PolicyError, match=r"requirements\.high.quorum|undefined function sorted"):
        await OpaChild(opa_program(), PolicyFolders(policies, PACKS), tmp_path / "work", Supervisor()).start()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'Version: 1.3.0'", "need OPA 1.4.0 or later"),
        ("echo hello", "need OPA 1.4.0 or later"),
        ("exit 3", "opa version exits with 3"),
    ],
)
async def test_program_that_is_no_recent_opa_is_refused(tmp_path: Path, script: str, said: str) -> None:
    program = tmp_path / "opa"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    with pytest.raises(PolicyError, match=said):
        await OpaChild(program, SHIPPED, tmp_path / "work", Supervisor()).start()


async def test_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="none/opa: No such file"):
        await OpaChild(tmp_path / "none" / "opa", SHIPPED, tmp_path / "work", Supervisor()).start()


PARENT = """
import asyncio, sys
from pathlib import Path
from tests.opa_server import POLICIES, start_opa

async def main():
    async with start_opa(POLICIES, Path(sys.argv[1])) as child:
        print(child.url, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def is_silent(engine: OpaEngine) -> bool:
    try:
        await engine.ask(question())
    except PolicyUnavailableError:
        return True
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
async def test_server_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), stdout=asyncio.subprocess.PIPE, cwd=POLICIES.parent
    )
    assert parent.stdout is not None
    url = (await parent.stdout.readline()).decode().strip()
    async with OpaEngine(url, timeout=MINUTE) as engine:
        assert (await engine.ask(question())).answer.outcome is Outcome.NEEDS_APPROVAL
        parent.kill()
        await parent.wait()
        await until(lambda: is_silent(engine))


def _with_other_rules(bundle: bytes) -> bytes:
    """Return a bundle with the genuine manifest and rules that allow everything."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(bundle), mode="r:gz") as genuine,
        tarfile.open(fileobj=packed, mode="w:gz") as forged,
    ):
        for member in genuine.getmembers():
            source = genuine.extractfile(member)
            assert source is not None
            data = source.read()
            if member.name.endswith("approvals.rego"):
                data = data.replace(b"count(approvers) >= requirement.quorum", b"count(approvers) >= 0")
            member.size = len(data)
            forged.addfile(member, io.BytesIO(data))
    return packed.getvalue()


async def test_a_bundle_that_keeps_the_revision_of_other_rules_is_found_out(tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with (
        start_opa(copy_policies(tmp_path / "rego"), work) as child,
        OpaEngine(child.url, timeout=MINUTE, fresh=0) as engine,
    ):
        assert (await engine.ask(question())).answer.outcome == "needs_approval"
        served = work / "served/bundle.tar.gz"
        forged = work / "forged"
        forged.write_bytes(_with_other_rules(served.read_bytes()))
        forged.replace(served)
        outcomes = set()
        async with asyncio.timeout(MINUTE):
            while "found out" not in outcomes:
                try:
                    outcomes.add(str((await engine.ask(question())).answer.outcome))
                except PolicyUnavailableError as error:
                    outcomes.add("found out" if "is not the digest" in str(error) else "reloading")
        assert "allow" not in outcomes
