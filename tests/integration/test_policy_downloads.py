"""A real OPA downloads the policy in force from the edge, by the configuration of `policy opa-config`.

It serves what is in force within seconds, and without a restart. An older bundle that was signed is one that it takes,
and the gate refuses its answers.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from countersign.settings import ROOT
from edge.policy_bundle import ROUTE
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from policy.keys import ALGORITHM, PolicyKey, load_or_create
from policy.opa_config import BundleSource, opa_config
from policy.signing import sign_bundle
from receipts.signing import public_path
from runtime.services.policy_bundles import PolicyBundles
from runtime.store.database.pool import Pool
from tests.bench import open_bench
from tests.databases import program_pool
from tests.integration.conftest import PACK, Targets
from tests.integration.door_stage import TOKEN, activate, door, install, next_policy
from tests.integration.program_stage import Finished, command
from tests.integration.test_signed_policies import Door, Served, digest_of, downloading, offered, opa
from tests.opa_server import SHIPPED
from tests.patience import MINUTE, until

VARIABLE = "COUNTERSIGN_POLICY_TOKEN"
FILE = {"company": "ACME", "text": "report"}


@dataclass
class Site:
    """A database, its door, and the key that signs."""

    folder: Path
    pool: Pool
    url: str
    key: PolicyKey

    async def config(self, *arguments: str) -> Finished:
        """Run `policy opa-config` for the door."""
        keys = json.dumps([str(public_path(self.folder / "policy.pem"))])
        words = ("policy", "opa-config", "--url", self.url, *arguments)
        return await command(*words, env={"COUNTERSIGN_POLICY_KEYS": keys})

    @asynccontextmanager
    async def opa(self, *arguments: str, **env: str) -> AsyncIterator[Served]:
        """Run an OPA by its configuration."""
        file = self.folder / "opa.yaml"
        made = await self.config(*arguments, "-o", str(file))
        assert (made.code, made.err) == (0, "")
        (self.folder / "work").mkdir()
        async with opa(self.folder / "work", "--config-file", str(file), **env) as served:
            yield served


@pytest.fixture
async def site(dsn: str, tmp_path: Path) -> AsyncIterator[Site]:
    async with program_pool(dsn) as pool, door(PolicyBundles(pool)) as url:
        yield Site(tmp_path, pool, url, load_or_create(tmp_path / "policy.pem"))


def serves(opa: Served, folders: PolicyFolders) -> Callable[[], object]:
    """Return what looks whether an OPA serves a policy."""
    digest = read_policy(folders).digest

    async def holds() -> bool:
        return await digest_of(opa) == digest

    return holds


async def test_opa_serves_what_is_in_force_within_seconds_of_an_activation(site: Site) -> None:
    await install(site.pool, SHIPPED, site.key)
    after = next_policy(site.folder / "rego")
    async with site.opa(**{VARIABLE: TOKEN}) as opa:
        assert await digest_of(opa) == read_policy(SHIPPED).digest
        await activate(site.pool, after, site.key)
        await until(serves(opa, after))


async def test_opa_reads_the_token_from_a_file_and_waits_for_the_first_version(site: Site) -> None:
    secret = site.folder / "token"
    secret.write_text(f"{TOKEN}\n", encoding="utf-8")
    async with site.opa("--token-file", str(secret)) as opa:
        await until(lambda: "server replied with Not Found" in opa.log.read_text(encoding="utf-8"))
        await install(site.pool, SHIPPED, site.key)
        assert await digest_of(opa) == read_policy(SHIPPED).digest


async def test_an_older_bundle_is_taken_by_opa_and_decides_nothing(dsn: str, targets: Targets, tmp_path: Path) -> None:
    key, after = load_or_create(tmp_path / "policy.pem"), next_policy(tmp_path / "rego")
    new = sign_bundle(read_policy(after), key).data
    source = Door(new)
    async with (
        downloading(tmp_path / "work", source, [tmp_path / "policy.pem"]) as opa,
        OpaEngine(opa.url, timeout=MINUTE, fresh=0) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as bench,
    ):
        await until(serves(opa, after))
        old = await install(bench.engine.pool, SHIPPED, key)
        assert await activate(bench.engine.pool, after, key) == new
        await offered(source, old)
        await until(serves(opa, SHIPPED))
        await bench.start("bench.file", FILE, "late")
        await bench.settle()
        (effect,) = await bench.rows("SELECT status, error FROM effects WHERE connector = 'register'")
        assert effect["status"] == "pending"
        assert "another one is in force" in effect["error"]
        assert await bench.rows("SELECT * FROM policy_decisions") == []
        await offered(source, new)
        await until(serves(opa, after))
        await bench.later(minutes=1)
        decided = await bench.rows("SELECT DISTINCT policy_digest FROM policy_decisions")
        assert decided == [{"policy_digest": read_policy(after).digest}]


@pytest.mark.parametrize("env", [{}, {VARIABLE: "another-token"}], ids=["no token", "another token"])
async def test_opa_without_the_token_gets_no_policy(site: Site, env: dict[str, str]) -> None:
    await install(site.pool, SHIPPED, site.key)
    async with site.opa(**env) as opa:
        await until(lambda: "server replied with Unauthorized" in opa.log.read_text(encoding="utf-8"))


async def test_no_secret_is_in_the_configuration_and_nothing_is_overwritten(site: Site) -> None:
    shown = await site.config()
    assert (shown.code, TOKEN in shown.out) == (0, False)
    source = BundleSource(site.url, ROUTE, VARIABLE)
    assert shown.out == opa_config(source, [site.key.public])
    file = site.folder / "opa.yaml"
    file.write_text("mine", encoding="utf-8")
    taken = await site.config("-o", str(file))
    assert (taken.code, taken.err) == (1, f"countersign: {file} exists with other content: nothing is overwritten\n")


def test_the_page_shows_what_the_command_prints(tmp_path: Path) -> None:
    page = (ROOT / "docs/policy.md").read_text(encoding="utf-8")
    shown = yaml.safe_load(page.partition("```yaml\n# opa.yaml\n")[2].partition("```")[0])
    source = BundleSource("https://countersign.example", ROUTE, VARIABLE)
    key = load_or_create(tmp_path / "policy.pem").public
    made = yaml.safe_load(opa_config(source, [key, key]))
    assert made.pop("keys") == {key.key_id: {"algorithm": ALGORITHM, "key": key.pem().decode()}}
    (one,) = shown.pop("keys").values()
    assert (one["algorithm"], shown) == (ALGORITHM, made)


@pytest.mark.parametrize("url", ["edge:8080", "ftp://edge", "http://user:secret@edge", "http://edge/?x=1"])
async def test_an_address_that_is_none_is_refused(tmp_path: Path, url: str) -> None:
    refused = await command("policy", "opa-config", f"--url={url}", env={"COUNTERSIGN_HOME": str(tmp_path)})
    assert (refused.code, refused.out) == (2, "")
    assert "--url: " in refused.err
    assert "is not http(s)://HOST, without credentials and query" in refused.err


async def test_without_a_key_there_is_no_configuration(tmp_path: Path) -> None:
    nowhere = tmp_path / "home"
    none = await command("policy", "opa-config", env={"COUNTERSIGN_HOME": str(nowhere)})
    assert (none.code, none.out) == (1, "")
    assert none.err.startswith("countersign: there is no public key of policies: set COUNTERSIGN_POLICY_KEYS")
    missing = await command("policy", "opa-config", env={"COUNTERSIGN_POLICY_KEYS": f'["{nowhere}/policy.pub.pem"]'})
    assert (missing.code, missing.out) == (1, "")
    assert f"{nowhere}/policy.pub.pem" in missing.err
