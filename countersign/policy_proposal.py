"""Proposes a policy version: the folder is checked and backtested, its bundle signed, and the version added."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from countersign.backtest import Backtest, write_reports
from countersign.candidate import vetted
from countersign.connection import connected, naming
from countersign.engine import expect_trusted
from countersign.foreseen_errors import OperateError
from countersign.policy_install import expect_signed_changes
from countersign.settings import Settings
from policy.backtest.ledger import Ledger
from policy.backtest.summary import GroupBy
from policy.bundle import PolicyFolders, read_policy
from policy.checks import faults_in
from policy.explain import parsed_rules
from policy.keys import PolicyKey, load_or_create
from policy.signing import sign_bundle
from policy.versions import PolicyChanges, ReadPolicy, backtest_rows, rules_json, worst_example
from runtime.clock import utc_now
from runtime.services.policy_versions import NewPolicyVersion, changes_from_in_force, propose

Asked = tuple[datetime | None, datetime | None, int | None]
"""The period and sample of the backtest."""


@dataclass(frozen=True)
class Proposal:
    """What is proposed: the folders, the meta-policy that they must satisfy, the author, a comment, the signing key."""

    folders: PolicyFolders
    meta: Path
    author: str
    comment: str
    key: Path


@dataclass(frozen=True)
class Proposed:
    """The new version: its number and digest, and for people its changes, and its backtest with the worst example."""

    version: int
    digest: str
    changes: Sequence[str]
    backtest: Sequence[Mapping[str, str]]
    worst: str


async def propose_policy(settings: Settings, opa: Path, wish: Proposal, asked: Asked, folder: Path) -> Proposed:
    """Add a version; `folder` is for the backtest's files. Raise OperateError, PolicyError, KeyFileError."""
    if faults := await asyncio.to_thread(faults_in, opa, wish.folders, wish.meta):
        raise OperateError("\n".join(["the policy has faults, and is not proposed:", *faults]))
    key = _signing_key(settings, wish.key)
    text = read_policy(wish.folders)
    rules = await parsed_rules(opa, text.files)
    changes = await _changes(settings, ReadPolicy(text.files, rules))
    await expect_signed_changes(opa, text, settings.tenant)
    report = await _backtested(settings, opa, wish, asked, folder)
    new = NewPolicyVersion(
        text=text,
        bundle=sign_bundle(text, key, {"author": wish.author, "comment": wish.comment}).data,
        rules=rules_json(rules),
        tenant=settings.tenant,
        author=wish.author,
        comment=wish.comment,
        report=report,
    )
    async with connected(settings) as conn:
        with naming():
            version = await propose(conn, new, utc_now())
    told = json.loads(report)
    return Proposed(version, text.digest, changes.lines(), backtest_rows(told), worst_example(told))


def _signing_key(settings: Settings, file: Path) -> PolicyKey:
    """Return a key that is there and trusted: a bundle by another one would be refused after people have signed."""
    if not file.exists():
        raise OperateError(f"{file}: there is no such key; the one of `countersign policy install` signs")
    key = load_or_create(file)
    expect_trusted(settings, key.public)
    return key


async def _changes(settings: Settings, new: ReadPolicy) -> PolicyChanges:
    """Return the changes against the version in force, which are signed in the tenant of the settings."""
    async with connected(settings) as conn:
        changes, tenant = await changes_from_in_force(conn, new)
    if tenant != settings.tenant:
        raise OperateError(
            f"this change is signed in tenant {tenant}: propose it there, with COUNTERSIGN_TENANT={tenant}"
        )
    return changes


async def _backtested(settings: Settings, opa: Path, wish: Proposal, asked: Asked, folder: Path) -> str:
    """Return the JSON report of a backtest."""
    candidate = await vetted(opa, wish.folders)
    await Backtest(candidate, Ledger(folder), lambda _, __: None).begin(settings, *asked)
    return json.dumps(write_reports(folder, GroupBy.RULE).document, ensure_ascii=False)
