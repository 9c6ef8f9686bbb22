"""The supervised OPA: it follows its folder, keeps the old policy when the new one is bad, and comes back."""

import asyncio
import logging
import os
import shutil
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.embedded.children import ChildError, Supervisor
from countersign.embedded.home import HomeError
from countersign.embedded.opa import OpaChild, served_bundle
from policy.address import socket_path
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from policy.contract import Outcome, PolicyUnavailableError, Verdict
from policy.errors import PolicyError
from policy.keys import load_verification_key
from policy.verifying import verify_bundle
from tests.opa_server import PACKS, POLICIES, SHIPPED, copy_policies, opa_child, question, session_at, start_opa
from tests.patience import MINUTE, until
from tests.spoiled_bundles import SPOILED


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
        opa_child(folders, tmp_path / "work") as child,
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
        opa_child(SHIPPED, work)


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
        await opa_child(PolicyFolders(policies, PACKS), tmp_path / "work").start()


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
        await opa_child(SHIPPED, tmp_path / "work", program=program).start()


async def test_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="none/opa: No such file"):
        await opa_child(SHIPPED, tmp_path / "work", program=tmp_path / "none" / "opa").start()


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


@pytest.mark.parametrize("what", ["by another key", "a rule changed", "unsigned"])
async def test_a_bundle_that_somebody_puts_in_its_place_never_answers(tmp_path: Path, what: str) -> None:
    spoil, _ = SPOILED[what]
    work, supervisor = tmp_path / "work", Supervisor()
    async with (
        opa_child(SHIPPED, work, supervisor=supervisor) as child,
        OpaEngine(child.url, timeout=MINUTE, fresh=0) as engine,
    ):
        before = await engine.ask(question())
        served_bundle(work).write_bytes(spoil(served_bundle(work).read_bytes()))
        for _ in range(20):
            assert (await engine.ask(question())).policy_digest == before.policy_digest
        os.kill(child.pid or 0, signal.SIGKILL)
        with pytest.raises(ChildError, match=r"(?s)opa ended 3 times at its start; .*bundle bundle\.tar\.gz: "):
            async with asyncio.timeout(MINUTE):
                await supervisor.guard(asyncio.Event().wait())
        with pytest.raises(PolicyUnavailableError):
            await engine.ask(question())


async def test_the_next_change_is_served_from_a_bundle_of_ours_again(policies: Path, tmp_path: Path) -> None:
    async with running(policies, tmp_path) as (_, engine):
        served_bundle(tmp_path / "work").write_bytes(b"nonsense")
        edit(configuration(policies), '"quorum": 2', '"quorum": 3')
        await verdict_of(engine, read_policy(PolicyFolders(policies, PACKS)).digest)


async def test_no_question_goes_unanswered_while_the_policy_changes(policies: Path, tmp_path: Path) -> None:
    async with running(policies, tmp_path) as (child, engine):
        digests, process = {(await engine.ask(question())).policy_digest}, child.pid
        edit(configuration(policies), '"quorum": 2', '"quorum": 3')
        async with asyncio.timeout(MINUTE):
            while len(digests) == 1:
                digests |= {one.policy_digest for one in await asked_at_once(engine)}
        digests |= {one.policy_digest for one in await asked_at_once(engine)}
        assert len(digests) == 2
        assert child.pid != process


async def asked_at_once(engine: OpaEngine) -> list[Verdict]:
    return await asyncio.gather(*(engine.ask(question()) for _ in range(8)))


async def test_a_new_key_signs_from_the_next_start_on(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    found = []
    for _ in range(2):
        async with opa_child(SHIPPED, tmp_path / "work") as child, OpaEngine(child.url, timeout=MINUTE) as engine:
            await engine.ask(question())
        key = load_verification_key(keys / "policy.pub.pem")
        found.append(verify_bundle(served_bundle(tmp_path / "work").read_bytes(), [key]).key)
        for file in list(keys.iterdir()):
            file.unlink()
    assert found[0] != found[1]
