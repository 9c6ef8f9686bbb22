"""The doctor on the bundle of embedded mode's OPA: whose key signed it, and whether it would be taken again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.doctor import Fact
from countersign.doctor.policies import policy
from countersign.embedded.opa import served_bundle
from countersign.settings import Settings
from policy.bundle import PolicyFolders, read_policy
from policy.keys import load_or_create, load_verification_key
from policy.signing import sign_bundle
from receipts.signing import public_path
from runtime.clock import utc_now
from tests.opa_server import SHIPPED, copy_policies, own_opa, start_opa
from tests.spoiled_bundles import SPOILED


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Settings]:
    """Settings of a system whose OPA is embedded mode's."""
    home = tmp_path / "home"
    async with start_opa(copy_policies(tmp_path / "rego"), home / "opa") as child:
        yield Settings(opa_url=child.url, opa_timeout=60, home=home)


async def facts_of(settings: Settings) -> dict[str, Fact]:
    return {fact.name: fact for fact in await policy(settings, utc_now)}


async def fault_of(settings: Settings) -> str:
    """Return what is wrong with the bundle; the policy answers all the same."""
    facts = await facts_of(settings)
    assert facts["policy"].ok
    assert not facts["policy bundle"].ok
    assert facts["policy bundle"].remedy
    return facts["policy bundle"].detail


async def test_the_key_that_signed_the_bundle_is_named(settings: Settings) -> None:
    facts = await facts_of(settings)
    key = load_verification_key(public_path(settings.policy_key_path))
    assert [fact.ok for fact in facts.values()] == [True, True]
    assert facts["policy bundle"].detail == f"signed by {settings.policy_key_path}, {key.key_id[:16]}"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("a rule changed", "the bundle was changed: countersign/limits.rego is not what was signed"),
        ("unsigned", "the bundle is not signed"),
        ("by another key", "the bundle is signed by the key "),
    ],
)
async def test_a_bundle_that_somebody_put_there_is_found(settings: Settings, what: str, said: str) -> None:
    file = served_bundle(settings.home / "opa")
    file.write_bytes(SPOILED[what][0](file.read_bytes()))
    assert f"{file} would be refused: {said}" in await fault_of(settings)


async def test_a_signed_bundle_of_another_policy_than_the_one_that_answers_is_found(settings: Settings) -> None:
    text = read_policy(PolicyFolders(SHIPPED.core, ()))
    bundle = sign_bundle(text, load_or_create(settings.policy_key_path))
    served_bundle(settings.home / "opa").write_bytes(bundle.data)
    digest = read_policy(SHIPPED).digest
    assert f"holds the policy {text.digest}, and {digest} answers" in await fault_of(settings)


@pytest.mark.parametrize("lost", ["key", "bundle"])
async def test_what_is_lost_is_found(settings: Settings, lost: str) -> None:
    file = public_path(settings.policy_key_path) if lost == "key" else served_bundle(settings.home / "opa")
    file.unlink()
    assert "would be refused: " in await fault_of(settings)


async def test_nothing_is_said_of_the_bundle_of_another_opa(settings: Settings, tmp_path: Path) -> None:
    async with own_opa(SHIPPED.core, tmp_path) as url:
        assert list(await facts_of(settings.model_copy(update={"opa_url": url}))) == ["policy"]
