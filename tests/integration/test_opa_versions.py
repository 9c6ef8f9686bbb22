"""The supervised OPA serves the policy version in force, once there is one."""

from pathlib import Path

import pytest

from policy.bundle import PolicyFolders, read_policy
from policy.errors import PolicyError
from policy.keys import load_or_create
from policy.signing import sign_bundle
from tests.integration.test_opa_child import Heard, configuration, edit, heard, policies, running, verdict_of
from tests.opa_server import PACKS, copy_policies, opa_child
from tests.patience import until

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
