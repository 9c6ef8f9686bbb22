"""Doctor's checks of policy: it answers, is the version in force, and can be rolled back.

In embedded mode its bundle is signed, too.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from bot.doctor import Fact
from countersign.connection import connected
from countersign.doctor.database import examined, policy_text
from countersign.embedded.opa import served_bundle, socket_of, why_refused
from countersign.engine import make_policy, policy_keys
from countersign.settings import Settings
from policy.contract import PolicyUnavailableError
from policy.errors import PolicyError
from policy.keys import load_verification_key
from policy.unserved import UnservedPolicies
from policy.verifying import VerifiedBundle, verify_bundle
from receipts.errors import ReceiptsError
from receipts.signing import public_path
from runtime.clock import Clock
from runtime.services import policy_versions


async def policy(settings: Settings, clock: Clock) -> list[Fact]:
    """OPA's version, the bundle's revision and every member of the answer are checked by the client that asks."""
    async with make_policy(settings) as engine:
        digest = await examined(engine, settings.tenant, clock(), passed="")
    work = settings.home / "opa"
    bundles = [await _bundle(settings, work, digest)] if settings.opa_url == socket_of(work) else []
    return [_answers(settings, why_refused(work, digest), digest), *bundles]


def _answers(settings: Settings, refused: str, digest: str) -> Fact:
    if refused:
        detail = f"the changed policy is refused, and the one before is in force, {digest}: {refused.splitlines()[0]}"
        return Fact("policy", ok=False, detail=detail, remedy=f"Correct the files in {settings.policies}, or undo it.")
    return Fact("policy", ok=True, detail=f"answers for every listed operation, with policy {digest}")


async def _bundle(settings: Settings, work: Path, digest: str) -> Fact:
    """Check the bundle from which embedded mode's OPA started, and would start again."""
    file = served_bundle(work)
    remedy = "Find out who changed it, and start `countersign up` again, which builds and signs a new one."
    try:
        found = await asyncio.to_thread(_verified, settings, file)
    except (PolicyError, ReceiptsError, OSError) as error:
        return Fact("policy bundle", ok=False, detail=f"{file} would be refused: {error}", remedy=remedy)
    if found.text.digest != digest:
        detail = f"{file} holds the policy {found.text.digest}, and {digest} answers"
        return Fact("policy bundle", ok=False, detail=detail, remedy=remedy)
    return Fact("policy bundle", ok=True, detail=f"signed by {settings.policy_key_path}, {found.key.key_id[:16]}")


def _verified(settings: Settings, file: Path) -> VerifiedBundle:
    return verify_bundle(file.read_bytes(), [load_verification_key(public_path(settings.policy_key_path))])


async def policy_version(settings: Settings, clock: Clock, *, needs_keys: bool) -> list[Fact]:
    """Check that OPA serves the policy version in force, and that its stored bundle is signed and holds its text.

    The bundle is not checked where no keys are set, unless this process `needs_keys` to bring versions into force.
    """
    async with connected(settings) as conn:
        found = await policy_versions.served_bundle(conn)
        version = await policy_versions.find_version(conn, found[0].version) if found else None
    if found is None or version is None:
        detail = "development: no version is in force, what OPA serves decides"
        return [Fact("policy version", ok=True, detail=detail)]
    served = (await policy_text(settings, clock)).digest
    faults = [
        *([_not_served(version, served)] if served != version["digest"] else []),
        *await asyncio.to_thread(_stored_faults, settings, version, found[1], needs_keys=needs_keys),
    ]
    if faults:
        details, remedies = zip(*faults, strict=True)
        return [Fact("policy version", ok=False, detail="; ".join(details), remedy=" ".join(remedies))]
    activated = f"{version['activated_at'].astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    detail = f"version {version['version']} ({_short(served)}) by {version['author']}, activated {activated}"
    return [Fact("policy version", ok=True, detail=detail)]


def _not_served(version: Mapping[str, Any], served: str) -> tuple[str, str]:
    number, digest = version["version"], _short(version["digest"])
    until = f"nothing is decided until OPA serves version {number}"
    detail = f"version {number} ({digest}) is in force, and OPA serves {_short(served)}: {until}"
    return detail, "Have OPA load the signed bundle of that version; OPA's log says why it has not."


def _stored_faults(
    settings: Settings, version: Mapping[str, Any], bundle: bytes, *, needs_keys: bool
) -> list[tuple[str, str]]:
    """Return what is wrong with the stored bundle, with its remedy: OPA would refuse it, or it holds another text."""
    named = f"the stored bundle of version {version['version']}"
    changed = "If nobody changed these keys, find out who changed the database: run `countersign log verify`."
    try:
        keys = policy_keys(settings)
        held = verify_bundle(bundle, keys).text.digest if keys or needs_keys else version["digest"]
    except (PolicyError, ReceiptsError, OSError) as error:
        remedy = f"Set COUNTERSIGN_POLICY_KEYS to the public keys of policies. {changed}"
        return [(f"{named} would be refused: {error}", remedy)]
    if held != version["digest"]:
        remedy = "Find out who changed the database: run `countersign log verify`, and restore a backup."
        return [(f"{named} holds another policy, {_short(held)}", remedy)]
    return []


async def rollback(settings: Settings) -> list[Fact]:
    """Check that this worker could ask the previous version; say nothing while no version is in force."""
    async with connected(settings) as conn:
        if await policy_versions.in_force(conn) is None:
            return []
    try:
        version = await UnservedPolicies(settings.opa).opa_version()
    except PolicyUnavailableError as error:
        detail = f"this worker can roll no policy back: {error}"
        remedy = "Set COUNTERSIGN_OPA to an `opa` program that runs here, and start the worker again."
        return [Fact("rollback", ok=False, detail=detail, remedy=remedy)]
    return [Fact("rollback", ok=True, detail=f"asks the previous version with {settings.opa}, version {version}")]


def _short(digest: str) -> str:
    return f"{digest[:16]}…"
