"""`policy install`: the first version comes into force once, and only if people can sign the next one."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from policy.bundle import PolicyFolders, read_policy
from policy.keys import load_or_create, load_verification_key
from policy.verifying import verify_bundle
from receipts.signing import public_path
from tests.integration.door_stage import CONFIG, next_policy
from tests.integration.program_stage import Finished, command, rows
from tests.integration.versions_stage import with_config
from tests.logins import as_program
from tests.opa_server import PACKS, copy_policies, edit_policy, opa_program

IN_FORCE = """
    SELECT v.version, digest, author, tenant, comment, activated_by, run_id, json_array_length(rules) AS rules, bundle
      FROM policy_versions v JOIN policy_activations a USING (version) ORDER BY number
"""


@dataclass
class Site:
    """A database, a policy folder, and a home."""

    dsn: str
    folder: Path
    home: Path

    async def install(self, *arguments: str, **settings: str) -> Finished:
        """Run the command on the folder."""
        env = {
            "COUNTERSIGN_DATABASE_URL": as_program(self.dsn),
            "COUNTERSIGN_HOME": str(self.home),
            "COUNTERSIGN_OPA": str(opa_program()),
            "COUNTERSIGN_PACKS": json.dumps([str(pack) for pack in PACKS]),
            **{f"COUNTERSIGN_{name}": value for name, value in settings.items()},
        }
        return await command("policy", "install", str(self.folder), *arguments, env=env)

    async def refused(self, *arguments: str, **settings: str) -> str:
        """Return why nothing comes into force."""
        ended = await self.install(*arguments, **settings)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith("countersign: ")
        assert rows(self.dsn, IN_FORCE) == []
        return ended.err

    @property
    def digest(self) -> str:
        """Return the digest of the policy in the folder."""
        return read_policy(PolicyFolders(self.folder, PACKS)).digest


@pytest.fixture
def site(dsn: str, tmp_path: Path) -> Site:
    return Site(dsn, copy_policies(tmp_path / "rego"), tmp_path / "home")


async def test_the_policy_of_the_folder_comes_into_force_signed(site: Site) -> None:
    done = await site.install()
    key = load_verification_key(site.home / "keys/policy.pub.pem")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"policy version 1 is in force: {site.digest}\n"
        f"signed by the key {key.key_id}; changes of rules are signed in tenant acme from now on\n"
    )
    (found,) = rows(site.dsn, IN_FORCE)
    assert verify_bundle(bytes(found.pop("bundle")), [key]).text == read_policy(PolicyFolders(site.folder, PACKS))
    assert found.pop("rules") > 20
    assert found == {
        "version": 1,
        "digest": site.digest,
        "author": "installation",
        "tenant": "acme",
        "comment": "came with the installation",
        "activated_by": "countersign",
        "run_id": None,
    }
    told = rows(site.dsn, "SELECT leaf ->> 'event' AS event FROM tenant_leaves WHERE tenant = 'acme' ORDER BY seq")
    assert [one["event"] for one in told] == ["policy.seen", "policy.proposed", "policy.activated"]


async def test_once_a_version_is_in_force_nothing_is_done(site: Site) -> None:
    key = site.home / "own.pem"
    first = json.loads((await site.install("--key", str(key), "--json")).out)
    assert first == {
        "version": 1,
        "policy_digest": site.digest,
        "installed": True,
        "key_id": load_or_create(key).public.key_id,
        "folder_digest": site.digest,
    }
    before, installed = rows(site.dsn, IN_FORCE), site.digest
    again = await site.install()
    assert (again.code, again.err) == (0, "")
    assert again.out == f"policy version 1 is in force: {installed}\nnothing was done, since a version is in force\n"
    edit_policy(site.folder, CONFIG, '"quorum": 2', '"quorum": 3')
    other = await site.install()
    assert (other.code, other.err) == (0, "")
    assert other.out.splitlines()[2] == (
        f"{site.folder} holds another policy, {site.digest}: `countersign policy propose` proposes it"
    )
    found = json.loads((await site.install("--json")).out)
    assert (found["installed"], found["policy_digest"], found["folder_digest"]) == (False, installed, site.digest)
    assert rows(site.dsn, IN_FORCE) == before
    assert not (site.home / "keys").exists()  # no key is made that nobody needs


async def test_a_folder_that_holds_no_policy_stops_no_start_once_a_version_is_in_force(site: Site) -> None:
    await site.install()
    (site.folder / CONFIG).write_text("{", encoding="utf-8")
    again = await site.install()
    assert (again.code, again.err) == (0, "")
    assert again.out.splitlines()[2].startswith(f"{site.folder} holds no policy: {site.folder / CONFIG}: ")


async def test_of_two_installations_at_once_one_comes_into_force(site: Site, tmp_path: Path) -> None:
    other = Site(site.dsn, next_policy(tmp_path / "other").core, tmp_path / "another home")
    ended = await asyncio.gather(site.install("--json"), other.install("--json"))
    assert [(one.code, one.err) for one in ended] == [(0, ""), (0, "")]
    told = [json.loads(one.out) for one in ended]
    assert sorted(one["installed"] for one in told) == [False, True]
    (found,) = rows(site.dsn, IN_FORCE)
    assert {one["policy_digest"] for one in told} == {found["digest"]}


def unlisted(config: dict[str, Any]) -> None:
    del config["connectors"]["policy"]


def without_rollback(config: dict[str, Any]) -> None:
    del config["connectors"]["policy"]["operations"]["rollback"]


def without_requirement(config: dict[str, Any]) -> None:
    del config["requirements"]["policy_rollback"]


@pytest.mark.parametrize(
    ("change", "operation"),
    [(unlisted, "activate"), (without_rollback, "rollback"), (without_requirement, "rollback")],
)
async def test_a_policy_that_could_never_be_changed_is_refused(
    site: Site, change: Callable[[dict[str, Any]], None], operation: str
) -> None:
    with_config(site.folder, change)
    why = await site.refused()
    assert why.startswith(f"countersign: the policy answers policy::{operation} in tenant acme with deny (")
    assert why.endswith(
        "so it could never be changed by signatures: list in countersign_config/acme/data.json the connector `policy`"
        " with the operations `activate` and `rollback` and the target `policy:*`, and the requirements"
        " `policy_activate` and `policy_rollback`\n"
    )
    assert why.count("\n") == 1


async def test_of_a_rule_that_denies_changes_of_the_policy_it_is_said_that_the_rule_must_change(site: Site) -> None:
    edit_policy(site.folder, "countersign/limits.rego", "\tnot permitted", "\tinput.tenant")
    why = await site.refused()
    assert "in tenant acme with deny (" in why
    assert why.endswith(": have the rules that give limits.writes_per_run leave out the connector `policy`\n")


async def test_a_policy_that_does_not_know_the_tenant_is_refused(site: Site) -> None:
    why = await site.refused(TENANT="beta")
    assert "the policy answers policy::activate in tenant beta with deny (" in why
    assert "list in countersign_config/beta/data.json" in why


async def test_a_policy_that_asks_for_no_signature_is_refused(site: Site) -> None:
    demand = 'demand := {"requirement": concat("_", ["policy", input.effect.operation]), "reason": reason}'
    edit_policy(
        site.folder, "countersign/approvals.rego", demand, 'demand := {"requirement": "none", "reason": reason}'
    )
    why = await site.refused()
    assert "the policy answers policy::activate in tenant acme with allow" in why


async def test_a_policy_that_would_not_be_served_is_refused(site: Site) -> None:
    edit_policy(site.folder, CONFIG, '"quorum": 2', '"quorum": 0')
    assert "requirements.access_payments.quorum: Must be greater than or equal to 1" in await site.refused()
    edit_policy(site.folder, "countersign/limits.rego", "package countersign", "package")
    assert "limits.rego:" in await site.refused()


async def test_a_key_that_opa_would_not_trust_signs_nothing(site: Site, tmp_path: Path) -> None:
    load_or_create(tmp_path / "trusted.pem")
    trusted = json.dumps([str(public_path(tmp_path / "trusted.pem"))])
    why = await site.refused(POLICY_KEYS=trusted)
    key = load_or_create(site.home / "keys/policy.pem").public
    trusted_keys = "COUNTERSIGN_POLICY_KEYS, or of the home"
    assert why == f"countersign: the signing key {key.key_id[:16]} is not trusted: it is none of {trusted_keys}\n"
    missing = await site.refused(POLICY_KEYS=json.dumps([str(tmp_path / "missing.pub.pem")]))
    assert "missing.pub.pem" in missing
    done = await site.install("--key", str(tmp_path / "trusted.pem"), POLICY_KEYS=trusted)
    assert (done.code, done.err) == (0, "")


async def test_the_tenant_of_a_program_on_mocks_is_not_made_one_that_acts(site: Site) -> None:
    with psycopg.connect(site.dsn, autocommit=True) as conn:
        conn.execute("INSERT INTO tenants (tenant, salt, mocked) VALUES ('acme', 'salt', true)")
    assert "the runs of tenant acme are on mocks" in await site.refused()


async def test_without_a_folder_nothing_is_asked(site: Site) -> None:
    site.folder = site.folder / "nowhere"
    assert await site.refused() == f"countersign: {site.folder} is not a folder\n"
