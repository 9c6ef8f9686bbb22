"""The supervised OPA serves the policy version in force, once there is one."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from countersign.embedded.children import Supervisor
from countersign.embedded.opa import OpaChild, served_bundle
from countersign.embedded.system import Ports, embedded
from countersign.settings import Settings
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from policy.errors import PolicyError
from policy.keys import load_or_create
from policy.signing import sign_bundle
from policy.verifying import verify_bundle
from tests.integration.program_stage import command
from tests.integration.test_opa_child import Heard, configuration, edit, heard, policies, running, verdict_of
from tests.opa_server import PACKS, POLL, copy_policies, opa_child, opa_program, question
from tests.patience import MINUTE, until

__all__ = ["heard", "policies"]


async def test_the_version_in_force_is_served_and_the_folder_no_more(
    policies: Path, tmp_path: Path, heard: Heard
) -> None:
    def version(writes: int) -> tuple[str, bytes]:
        folder = copy_policies(tmp_path / f"version {writes}")
        edit(configuration(folder), '"writes_per_run": 60', f'"writes_per_run": {writes}')
        text = read_policy(PolicyFolders(folder, PACKS))
        said = {"author": "rita", "comment": "5 < 6 & \u2028 → é"}
        return text.digest, sign_bundle(text, load_or_create(tmp_path / "keys/policy.pem"), said).data

    first, second = version(61), version(62)
    found: list[tuple[str, bytes] | OSError] = [first]

    asked = [0]

    async def in_force() -> tuple[str, bytes]:
        asked[0] += 1
        if isinstance(found[0], OSError):
            raise found[0]
        return found[0]

    async with running(policies, tmp_path) as (child, engine):
        child.follow_versions(in_force)
        await verdict_of(engine, first[0])
        found[0] = OSError("the database is away")
        edit(configuration(policies), '"writes_per_run": 60', '"writes_per_run": 63')
        enough = asked[0] + 4
        await until(lambda: asked[0] > enough)
        assert child.revision == first[0]
        found[0] = second
        await verdict_of(engine, second[0])
        text = read_policy(PolicyFolders(policies, PACKS))
        found[0] = (text.digest, sign_bundle(text, load_or_create(tmp_path / "other.pem")).data)
        await heard.until("the changed policy is invalid, the old one stays active")
        assert child.revision == second[0]


async def test_a_version_in_force_is_served_where_the_folder_holds_no_policy(policies: Path, tmp_path: Path) -> None:
    text = read_policy(PolicyFolders(policies, PACKS))
    version = text.digest, sign_bundle(text, load_or_create(tmp_path / "keys/policy.pem")).data
    configuration(policies).write_text("{", encoding="utf-8")
    child = opa_child(PolicyFolders(policies, PACKS), tmp_path / "work")
    with pytest.raises(PolicyError):
        await child.start()

    async def in_force() -> tuple[str, bytes]:
        return version

    child.follow_versions(in_force)
    async with child:
        assert child.revision == text.digest


@dataclass
class Away:
    """An OPA whose program is away while the next version comes into force; its pauses are noted and take no time."""

    child: OpaChild
    program: Path
    engine: OpaEngine
    before: str
    version: str
    pauses: list[float]

    async def failed(self, times: int) -> None:
        """Wait until so many starts of the next version have failed."""
        await until(lambda: sum(pause > POLL for pause in self.pauses) >= times)


@pytest.fixture
async def away(policies: Path, tmp_path: Path) -> AsyncIterator[Away]:
    program = tmp_path / "opa"
    program.symlink_to(opa_program())
    text = read_policy(PolicyFolders(policies, PACKS))
    changed = copy_policies(tmp_path / "version")
    edit(configuration(changed), '"writes_per_run": 60', '"writes_per_run": 61')
    version = read_policy(PolicyFolders(changed, PACKS))
    pauses: list[float] = []

    async def in_force() -> tuple[str, bytes]:
        return version.digest, sign_bundle(version, load_or_create(tmp_path / "keys/policy.pem")).data

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    folders = PolicyFolders(policies, PACKS)
    async with (
        opa_child(folders, tmp_path / "work", program=program, sleep=sleep) as child,
        OpaEngine(child.url, timeout=MINUTE) as engine,
    ):
        program.unlink()
        child.follow_versions(in_force)
        yield Away(child, program, engine, text.digest, version.digest, pauses)


async def test_a_version_whose_opa_could_not_be_started_is_served_once_it_can(away: Away, heard: Heard) -> None:
    told = await heard.until("the old one stays active")
    assert "opa cannot be started" in told[-1]
    assert (await away.engine.ask(question())).policy_digest == away.child.revision == away.before
    away.program.symlink_to(opa_program())
    await verdict_of(away.engine, away.version)
    assert away.child.revision == away.version


async def test_a_version_whose_opa_cannot_be_started_is_told_once(away: Away, heard: Heard) -> None:
    await away.failed(5)
    away.program.symlink_to(opa_program())
    told = await heard.until(f"serving policy {away.version}")
    assert len([line for line in told if "the old one stays active" in line]) == 1


async def test_an_opa_that_cannot_be_started_is_tried_after_longer_pauses_up_to_half_a_minute(away: Away) -> None:
    await away.failed(20)
    away.program.symlink_to(opa_program())
    await verdict_of(away.engine, away.version)
    longer = [pause for pause in away.pauses if pause > POLL]
    assert longer[:9] == [POLL * 2**times for times in range(1, 10)]
    assert set(longer[9:]) == {30.0}
    await until(lambda: away.pauses[-1] == POLL)


async def test_the_bundle_that_opa_runs_from_is_kept_through_any_number_of_failed_starts(
    away: Away, tmp_path: Path
) -> None:
    await away.failed(25)
    key = load_or_create(tmp_path / "keys/policy.pem").public
    assert verify_bundle(served_bundle(tmp_path / "work").read_bytes(), [key]).text.digest == away.before


async def test_a_version_whose_opa_ends_at_its_start_ends_nothing_else_and_is_served_once_it_can(
    policies: Path, tmp_path: Path, heard: Heard
) -> None:
    program, ill = tmp_path / "opa", tmp_path / "ill"
    program.write_text(f'#!/bin/sh\n[ "$1" = run ] && [ -e {ill} ] && exit 3\nexec {opa_program()} "$@"\n')
    program.chmod(0o700)
    changed = copy_policies(tmp_path / "version")
    edit(configuration(changed), '"writes_per_run": 60', '"writes_per_run": 61')
    version = read_policy(PolicyFolders(changed, PACKS))

    async def in_force() -> tuple[str, bytes]:
        return version.digest, sign_bundle(version, load_or_create(tmp_path / "keys/policy.pem")).data

    supervisor = Supervisor()
    async with (
        opa_child(PolicyFolders(policies, PACKS), tmp_path / "work", program=program, supervisor=supervisor) as child,
        OpaEngine(child.url, timeout=MINUTE) as engine,
    ):
        ill.touch()
        child.follow_versions(in_force)
        told = await supervisor.guard(heard.until("the old one stays active"))
        assert "opa ended 3 times at its start" in told[-1]
        served = verify_bundle(
            served_bundle(tmp_path / "work").read_bytes(), [load_or_create(tmp_path / "keys/policy.pem").public]
        )
        assert served.text.digest == child.revision, "it would start again with another policy"
        ill.unlink()
        await supervisor.guard(verdict_of(engine, version.digest))
        assert child.revision == version.digest


async def test_embedded_mode_starts_with_the_version_in_force_where_the_folder_holds_no_policy(
    policies: Path, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path / "home", policies=policies)
    text = read_policy(PolicyFolders(policies, tuple(settings.packs)))
    async with embedded(settings, Ports.tried("127.0.0.1", 0, 0), Supervisor()) as system:
        done = await command("policy", "install", str(policies), env=dict(system.env))
        assert (done.code, text.digest in done.out) == (0, True), done.err
    configuration(policies).write_text("{", encoding="utf-8")
    async with (
        embedded(settings, Ports.tried("127.0.0.1", 0, 0), Supervisor()) as system,
        OpaEngine(system.env["COUNTERSIGN_OPA_URL"], timeout=MINUTE) as engine,
    ):
        assert (await engine.ask(question())).policy_digest == text.digest


async def test_embedded_mode_does_not_start_where_the_folder_holds_no_policy_and_no_version_is_in_force(
    policies: Path, tmp_path: Path
) -> None:
    configuration(policies).write_text("{", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"acme/data\.json"):
        async with embedded(
            Settings(home=tmp_path / "home", policies=policies), Ports.tried("127.0.0.1", 0, 0), Supervisor()
        ):
            pass
