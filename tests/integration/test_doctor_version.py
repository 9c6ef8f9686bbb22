"""The doctor and the probe on the policy version in force: whether OPA serves it, and what its stored bundle is."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.doctor import Fact
from countersign.connection import connected
from countersign.doctor.doctor import examine
from countersign.doctor.policies import policy_version, rollback
from countersign.doctor.readiness import Readiness
from countersign.embedded.opa import OpaChild
from countersign.parts import Role
from countersign.settings import Settings
from policy.bundle import PolicyFolders, read_policy
from policy.contract import PolicyText
from policy.keys import load_or_create
from policy.signing import sign_bundle
from receipts.signing import public_path
from runtime.clock import utc_now
from tests.integration.first_version import install_first
from tests.integration.program_stage import composed, edge_of, settings_of
from tests.opa_server import PACKS, SHIPPED, copy_policies, edit_policy, opa_program, start_opa
from tests.patience import until
from tests.spoiled_bundles import SPOILED

SERVED = read_policy(SHIPPED)
OTHER = read_policy(PolicyFolders(SHIPPED.core, ()))
NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.fixture
def settings(dsn: str, opa: OpaChild, tmp_path: Path) -> Settings:
    return settings_of(dsn, opa.url, tmp_path)


async def install(settings: Settings, text: PolicyText = SERVED, bundle: bytes = b"") -> None:
    """Bring a text into force, signed by the key of the settings' home."""
    key = load_or_create(settings.policy_key_path)
    async with connected(settings) as conn:
        await install_first(conn, text, key, NOW, bundle)


async def fact_of(settings: Settings, *, needs_keys: bool = True) -> Fact:
    (fact,) = await policy_version(settings, utc_now, needs_keys=needs_keys)
    assert fact.name == "policy version"
    assert fact.ok or fact.remedy
    return fact


async def test_without_a_version_in_force_the_doctor_says_development(settings: Settings) -> None:
    fact = await fact_of(settings)
    assert (fact.ok, fact.detail) == (True, "development: no version is in force, what OPA serves decides")


async def test_the_version_that_opa_serves_is_told_with_its_author_and_its_activation(settings: Settings) -> None:
    await install(settings)
    fact = await fact_of(settings)
    said = f"version 1 ({SERVED.digest[:16]}…) by installation, activated 2026-01-05 09:00:00 UTC"
    assert (fact.ok, fact.detail) == (True, said)


@pytest.fixture
async def swapped(dsn: str, tmp_path: Path) -> AsyncIterator[Settings]:
    """Give an installation in whose OPA somebody has swapped the policy."""
    folder = copy_policies(tmp_path / "rego")
    async with start_opa(folder, tmp_path / "opa") as child:
        settings = settings_of(dsn, child.url, tmp_path / "home")
        await install(settings)
        before = child.revision
        edit_policy(folder, "countersign_config/acme/data.json", '"writes_per_run": 60', '"writes_per_run": 61')
        await until(lambda: child.revision != before)
        yield settings


async def test_a_policy_swapped_in_opa_is_found(swapped: Settings) -> None:
    fact = await fact_of(swapped)
    assert not fact.ok
    served = read_policy(PolicyFolders(swapped.home.parent / "rego", PACKS)).digest
    swap = f"version 1 ({SERVED.digest[:16]}…) is in force, and OPA serves {served[:16]}…"
    assert fact.detail == f"{swap}: nothing is decided until OPA serves version 1"
    assert "Have OPA load the signed bundle" in fact.remedy


async def test_a_process_whose_opa_serves_another_policy_than_the_one_in_force_is_not_ready(
    swapped: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async with composed(swapped) as system, edge_of(system) as edge:
        answer = await edge.send("GET", "/readyz", signed={})
    assert (answer.status, answer.body["detail"]) == (503, "not in order: policy")
    assert any(f"policy version 1 is in force, {SERVED.digest}" in said for said in caplog.messages)


async def test_a_process_whose_opa_serves_the_version_in_force_is_ready(settings: Settings) -> None:
    await install(settings)
    async with composed(settings) as system:
        assert await Readiness(system, list)() == []


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("a rule changed", "the bundle was changed: countersign/limits.rego is not what was signed"),
        ("unsigned", "the bundle is not signed"),
        ("by another key", "the bundle is signed by the key "),
    ],
)
async def test_a_stored_bundle_that_opa_would_refuse_is_found(settings: Settings, what: str, said: str) -> None:
    right = sign_bundle(SERVED, load_or_create(settings.policy_key_path)).data
    await install(settings, bundle=SPOILED[what][0](right))
    fact = await fact_of(settings)
    assert not fact.ok
    assert f"the stored bundle of version 1 would be refused: {said}" in fact.detail
    assert "countersign log verify" in fact.remedy


async def test_a_stored_bundle_that_holds_another_policy_is_found(settings: Settings) -> None:
    await install(settings, bundle=sign_bundle(OTHER, load_or_create(settings.policy_key_path)).data)
    fact = await fact_of(settings)
    assert not fact.ok
    assert fact.detail == f"the stored bundle of version 1 holds another policy, {OTHER.digest[:16]}…"


async def test_all_that_is_wrong_with_a_version_is_told_at_once(swapped: Settings) -> None:
    public_path(swapped.policy_key_path).unlink()
    fact = await fact_of(swapped)
    assert "is in force, and OPA serves" in fact.detail
    assert "; the stored bundle of version 1 would be refused: " in fact.detail
    assert "Have OPA load" in fact.remedy
    assert "COUNTERSIGN_POLICY_KEYS" in fact.remedy


async def test_a_process_that_activates_nothing_needs_no_keys_of_policies(settings: Settings, tmp_path: Path) -> None:
    await install(settings)
    public_path(settings.policy_key_path).unlink()
    assert not (await fact_of(settings)).ok
    assert (await fact_of(settings, needs_keys=False)).ok
    other = public_path(tmp_path / "other.pem")
    load_or_create(tmp_path / "other.pem")
    wrong = settings.model_copy(update={"policy_keys": [other]})
    assert not (await fact_of(wrong, needs_keys=False)).ok


async def test_keys_of_policies_that_cannot_be_read_are_told(settings: Settings, tmp_path: Path) -> None:
    await install(settings)
    missing = tmp_path / "none.pem"
    fact = await fact_of(settings.model_copy(update={"policy_keys": [missing]}))
    assert not fact.ok
    assert str(missing) in fact.detail


async def test_a_worker_with_an_opa_program_can_roll_the_policy_back(settings: Settings) -> None:
    await install(settings)
    (fact,) = await rollback(settings.model_copy(update={"opa": opa_program()}))
    assert fact.ok
    assert fact.detail.startswith(f"asks the previous version with {opa_program()}, version ")


@pytest.mark.parametrize(
    ("program", "said"),
    [(None, "is asked with an `opa` program"), ("/none", "there is no such program"), ("/bin/true", "is no `opa`")],
)
async def test_a_worker_that_could_roll_no_policy_back_is_found(
    settings: Settings, program: str | None, said: str
) -> None:
    await install(settings)
    without = settings.model_copy(update={"opa": Path(program) if program else None})
    (fact,) = [fact for fact in await examine(without, utc_now, frozenset({Role.WORKER})) if fact.name == "rollback"]
    assert not fact.ok
    assert "this worker can roll no policy back: " in fact.detail
    assert said in fact.detail
    assert "Set COUNTERSIGN_OPA" in fact.remedy


async def test_nothing_is_said_of_rollbacks_to_other_roles_or_without_a_version(settings: Settings) -> None:
    assert await rollback(settings) == []
    await install(settings)
    facts = await examine(settings, utc_now, frozenset({Role.EDGE, Role.BOT, Role.SWEEPS}))
    assert "rollback" not in {fact.name for fact in facts}
