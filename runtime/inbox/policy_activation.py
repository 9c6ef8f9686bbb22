"""Activation of policy versions, and rollback: each becomes a run, whose one effect passes the gate."""

import asyncio
from typing import Any

from policy.errors import PolicyError
from policy.versions import NO_BACKTEST, PolicyChanges, backtest_rows, worst_example
from runtime.inbox.definition_activation import MOST_CHANGES, claim_own, refused
from runtime.inbox.notification_context import NotificationContext
from runtime.model.commands import POLICY_ROLLBACK, ActivatePolicyPayload, RollbackPolicyPayload
from runtime.model.notification import ApplyResult
from runtime.store import policy_versions
from runtime.store.policy_versions import InForce, read_version

ACTIVATE, ROLLBACK = ("countersign-activate-policy", 1), (POLICY_ROLLBACK, 1)
"""The program's own definitions, which every start stores."""


async def apply_policy_change(
    matter: NotificationContext, payload: ActivatePolicyPayload | RollbackPolicyPayload
) -> ApplyResult:
    """Claim the run that asks policy and people; refuse what cannot be."""
    there = await policy_versions.in_force(matter.conn)
    if there is None:
        return refused("no policy version is in force: run `countersign policy install` first")
    if isinstance(payload, ActivatePolicyPayload):
        return await _claim(matter, ACTIVATE, there, payload.version, payload.reason)
    if there.before is None:
        return refused(f"policy version {there.version} is the first one: there is none before it")
    return await _claim(matter, ROLLBACK, there, there.before, payload.reason)


async def _claim(
    matter: NotificationContext, own: tuple[str, int], there: InForce, version: int, reason: str
) -> ApplyResult:
    found = await policy_versions.find_version(matter.conn, version)
    if found is None:
        return refused(f"there is no policy version {version}")
    if version == there.version:
        return refused(f"policy version {version} is in force")
    changes = PolicyChanges(await read_version(matter.conn, there.version), await read_version(matter.conn, version))
    try:
        tenant = changes.signed_in(await policy_versions.tenant_of_rules(matter.conn))
    except PolicyError as error:
        return refused(str(error))
    if tenant != matter.notification.tenant:
        return refused(f"this change is signed in tenant {tenant}")
    asked: dict[str, Any] = {
        "version": version,
        "digest": found["digest"],
        "bundle": found["bundle"],
        "report": found["report_digest"] or "",
        "replaces": there.version,
        "author": found["author"],
        "comment": found["comment"],
        "changes": _first(await asyncio.to_thread(changes.rows)),  # many limits take seconds
        "backtest": backtest_rows(found["report"]) if found["report"] else [],
        "worst": worst_example(found["report"]) if found["report"] else NO_BACKTEST,
        "reason": matter.engine.privacy.text(reason),
    }
    return await claim_own(matter, own, asked)


def _first(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the first rows, and how many more there are: what permits more comes first."""
    left = len(rows) - MOST_CHANGES
    wider = sum(one["kind"] == "wider" for one in rows[MOST_CHANGES:])
    more = {"kind": "more", "what": f"{left} more changes, {wider} of them wider", "detail": "countersign policy diff"}
    return rows if left <= 0 else [*rows[:MOST_CHANGES], more]
