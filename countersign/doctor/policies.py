"""Doctor's checks of policy: it answers, and in embedded mode its bundle is signed."""

import asyncio
from pathlib import Path

from bot.doctor import Fact
from countersign.doctor.database import examined
from countersign.embedded.opa import served_bundle, socket_of, why_refused
from countersign.engine import make_policy
from countersign.settings import Settings
from policy.errors import PolicyError
from policy.keys import load_verification_key
from policy.verifying import VerifiedBundle, verify_bundle
from receipts.errors import ReceiptsError
from receipts.signing import public_path
from runtime.clock import Clock


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
