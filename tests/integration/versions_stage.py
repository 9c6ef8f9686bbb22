"""A bench whose policy has versions: the folder that OPA serves, what is proposed of it, and who signs."""

import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from countersign.embedded.opa import OpaChild
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from policy.explain import parsed_rules
from policy.keys import PolicyKey, load_or_create
from policy.signing import sign_bundle
from policy.unserved import UnservedPolicies
from policy.versions import ReadPolicy, rules_json
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.services import policy_versions
from runtime.services.approvals import ApprovalService
from runtime.services.operator import OperatorService
from runtime.services.policy_versions import INSTALLATION, InForce, NewPolicyVersion, policy_handlers
from runtime.worker import Worker
from tests.bench import TENANT, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.opa_server import PACKS, copy_policies, opa_program, start_opa
from tests.patience import MINUTE, until

CONFIG = "countersign_config/acme/data.json"
SIGNERS = ("ann", "sam")
"""Who together sign a change of the policy."""


@dataclass
class PolicyLife:
    """One installation: its bench, the policy folder that its OPA serves, and a key that signs."""

    bench: Bench
    folder: Path
    key: PolicyKey
    opa: OpaChild

    async def made(self, folder: Path, author: str, comment: str = "", report: str | None = None) -> NewPolicyVersion:
        """Return a version of what stands in a folder."""
        text = read_policy(PolicyFolders(folder, PACKS))
        rules = rules_json(await parsed_rules(opa_program(), text.files))
        signed = sign_bundle(text, self.key, {"author": author, "comment": comment}).data
        return NewPolicyVersion(text, signed, rules, TENANT, author, comment, report)

    async def install(self) -> InForce:
        """Bring the first version into force: what OPA serves."""
        new = await self.made(self.folder, INSTALLATION, "came with the installation")
        async with self.bench.engine.pool.connection() as conn:
            return await policy_versions.install(conn, new, self.bench.clock())

    async def propose(self, folder: Path, author: str = "rita", report: str | None = None) -> int:
        """Propose what stands in a folder; return its number."""
        new = await self.made(folder, author, "a change", report)
        async with self.bench.engine.pool.connection() as conn:
            read = ReadPolicy(new.text.files, await parsed_rules(opa_program(), new.text.files))
            await policy_versions.changes_from_in_force(conn, read)
            return await policy_versions.propose(conn, new, self.bench.clock())

    def changed(self, name: str, change: Callable[[dict[str, Any]], object]) -> Path:
        """Return a copy of the folder with another configuration."""
        copy = shutil.copytree(self.folder, self.folder.parent / name)
        with_config(copy, change)
        return copy

    async def signed(self, author: str = "rita") -> Path:
        """Have a next version signed, which whoever works next brings into force; return its folder."""
        await self.install()
        nxt = self.changed("next", more_writes)
        await self.activate(await self.propose(nxt, author))
        approval = await self.bench.approval_id()
        for person in SIGNERS:
            assert (await self.bench.click(person, approval)).counted
        return nxt

    async def serve(self, folder: Path) -> None:
        """Have OPA serve what stands in a folder."""
        digest = read_policy(PolicyFolders(folder, PACKS)).digest
        shutil.copytree(folder, self.folder, dirs_exist_ok=True)
        await until(lambda: self.opa.revision == digest)

    async def activate(self, version: int, by: str = "omar") -> dict[str, Any]:
        """Ask for a version to come into force; return what became of the wish."""
        return await self._asked(await self._desk().activate_policy(by, version, "it is time"))

    async def rollback(self, by: str = "omar") -> dict[str, Any]:
        """Ask for the previous version."""
        return await self._asked(await self._desk().rollback_policy(by, "it was wrong"))

    async def sign(self, *people: str) -> None:
        """Have people approve the change of policy that is asked for."""
        (row,) = await self.bench.rows(
            "SELECT approvals.approval_id FROM approvals JOIN effects USING (effect_id) WHERE connector = 'policy'"
            " AND approvals.status = 'requested'"
        )
        approval = row["approval_id"]
        for person in people:
            assert (await self.bench.click(person, approval)).counted
        await self.bench.settle()

    async def in_force(self) -> int | None:
        """Return the version in force."""
        async with self.bench.engine.pool.connection() as conn:
            found = await policy_versions.in_force(conn)
        return found.version if found else None

    def _desk(self) -> OperatorService:
        return OperatorService(self.bench.engine.pool, self.bench.clock, TENANT)

    async def _asked(self, notification_id: str) -> dict[str, Any]:
        facts = await inbox.apply(self.bench.engine, notification_id)
        await self.bench.settle()
        return dict(facts)


@asynccontextmanager
async def open_life(
    dsn: str, targets: Targets, folder: Path, packs: Sequence[Path] = (PACK,), **connection: Any
) -> AsyncIterator[PolicyLife]:
    """Open an installation without a version, whose OPA serves a folder."""
    rego = copy_policies(folder / "rego")
    key = load_or_create(folder / "author/policy.pem")
    async with (
        start_opa(rego, folder / "opa") as opa,
        OpaEngine(opa.url, timeout=MINUTE, fresh=0.0) as policy,
        open_bench(dsn, policy, [*packs], targets.handlers(), **connection) as bench,
    ):
        yield PolicyLife(with_versions(bench, key), rego, key, opa)


def with_versions(bench: Bench, key: PolicyKey) -> Bench:
    """Return a bench that brings versions into force whose bundles a key has signed."""
    handlers = {**bench.engine.handlers, **policy_handlers(bench.engine.pool, bench.clock, [key.public])}
    return _with_engine(bench, replace(bench.engine, handlers=handlers, unserved=UnservedPolicies(opa_program())))


def without_opa_program(bench: Bench) -> Bench:
    """Return a bench whose worker was given no program `opa`."""
    return _with_engine(bench, replace(bench.engine, unserved=UnservedPolicies(None)))


def _with_engine(bench: Bench, engine: Engine) -> Bench:
    return replace(bench, engine=engine, worker=Worker(engine), desk=ApprovalService(engine, TENANT))


def more_writes(config: dict[str, Any]) -> None:
    """Permit a run more writes."""
    config["writes_per_run"] = 90


def denies_all(config: dict[str, Any]) -> None:
    """Permit nothing."""
    config["connectors"] = {}
    config.pop("limits", None)  # which may speak of connectors that are listed


def with_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the tenant's configuration in a policy folder."""
    file = folder / CONFIG
    config = json.loads(file.read_text(encoding="utf-8"))
    change(config)
    file.write_text(json.dumps(config), encoding="utf-8")
