"""Installation of the policy: the first version comes into force from a folder, if none is in force yet.

Nobody can sign it, so it must let people sign the next one: otherwise the policy could never be changed.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from countersign.candidate import vetted
from countersign.connection import connected
from countersign.engine import bind, expect_trusted
from countersign.foreseen_errors import OperateError
from countersign.settings import Settings
from policy.answer import parse_answer
from policy.bundle import PolicyFolders, read_policy
from policy.contract import Answer, Outcome, PolicyText, PolicyUnavailableError, Question
from policy.errors import PolicyError
from policy.explain import answered, parsed_rules
from policy.keys import PolicyKey, load_or_create
from policy.signing import sign_bundle
from policy.verifying import verify_bundle
from policy.versions import rules_json
from policy.vetting import sample_question
from receipts.fields import timestamp
from runtime.clock import utc_now
from runtime.services.policy_versions import INSTALLATION, InForce, NewPolicyVersion, in_force, install

CHANGES = ("activate", "rollback")
"""Operations of the connector `policy`."""
_COMMENT = "came with the installation"


@dataclass(frozen=True)
class Installed:
    """The version in force, and the digest of the policy in the folder; `fault` says why the folder holds none.

    If the version came into force just now, `key_id` names the key that signed it, else it is None.
    """

    version: int
    digest: str
    key_id: str | None
    folder_digest: str | None
    fault: str = ""


async def install_policy(
    settings: Settings, opa: Callable[[], Path], folders: PolicyFolders, key_file: Path
) -> Installed:
    """Bring the policy in the folders into force, unless a version is; return the version in force.

    `opa` returns the program that vets it. The key is made if it is not there and needed; its public half stands beside
    it. Raise PolicyError, OperateError, DatabaseError, KeyFileError, ConfigError.
    """
    if key_file.exists():
        load_or_create(key_file)
    async with connected(settings) as conn:
        there = await in_force(conn)
    if there is not None:
        return _compared(there, folders)
    key = load_or_create(key_file)
    new = await _first_version(settings, await asyncio.to_thread(opa), folders, key)
    async with connected(settings) as conn:
        await bind(conn, settings.tenant, mocked=settings.overlay is not None)
        there = await install(conn, new, utc_now())
    if there.digest != new.text.digest:
        return _compared(there, folders)  # somebody else was faster
    return Installed(there.version, there.digest, key.public.key_id, there.digest)


def _compared(there: InForce, folders: PolicyFolders) -> Installed:
    try:
        found, fault = read_policy(folders).digest, ""
    except PolicyError as error:
        found, fault = None, str(error)
    return Installed(there.version, there.digest, None, found, fault)


async def _first_version(settings: Settings, opa: Path, folders: PolicyFolders, key: PolicyKey) -> NewPolicyVersion:
    """Return the version that the folders hold, signed; raise PolicyError or OperateError if it is not fit for that."""
    expect_trusted(settings, key.public)
    text = (await vetted(opa, folders)).text
    await expect_signed_changes(opa, text, settings.tenant)
    bundle = sign_bundle(text, key, {"author": INSTALLATION, "comment": _COMMENT}).data
    verify_bundle(bundle, [key.public])
    rules = await parsed_rules(opa, text.files)
    return NewPolicyVersion(text, bundle, rules_json(rules), settings.tenant, INSTALLATION, _COMMENT, None)


async def expect_signed_changes(opa: Path, text: PolicyText, tenant: str) -> None:
    """Raise OperateError unless a policy has people of a tenant sign its changes; PolicyError if it has no answer."""
    for operation in CHANGES:
        await _expect_signatures(opa, text, _question(tenant, operation))


def _question(tenant: str, operation: str) -> Question:
    """Return a question about a change of the policy, with the fields that such an effect has."""
    asked = sample_question(tenant, "policy", operation, "policy:2", "high", timestamp(utc_now()))
    digest = "0" * 64
    fields = {
        "version": 2,
        "digest": digest,
        "bundle": digest,
        "report": "",
        "replaces": 1,
        "author": "somebody",
        "comment": "",
        "changes": [],
        "backtest": [],
        "worst": "",
        "reason": "",
    }
    return asked.model_copy(update={"effect": asked.effect.model_copy(update={"fields": fields})})


async def _expect_signatures(opa: Path, text: PolicyText, question: Question) -> None:
    """Raise OperateError unless the policy has people sign a change of itself."""
    found = await answered(opa, text.files, question.model_dump(mode="json"))
    named = f"{question.effect.connector}::{question.effect.operation}"
    try:
        answer = parse_answer(found.answer, "answer")
    except PolicyUnavailableError as error:
        raise PolicyError(f"{named}: {error}") from error
    if answer.outcome != Outcome.NEEDS_APPROVAL:
        why = f" ({answer.reasons[0].msg})" if answer.reasons else ""
        raise OperateError(
            f"the policy answers {named} in tenant {question.tenant} with {answer.outcome}{why}, so it could never be"
            f" changed by signatures: {_advice(answer, question.tenant)}"
        )


_BY_DATA = ("config.", "connectors.", "approvals.requirement_missing")
"""How the codes begin of reasons that the tenant's data gives."""


def _advice(answer: Answer, tenant: str) -> str:
    """Return what to do about a policy that has nobody sign a change of itself."""
    codes = [reason.code for reason in answer.reasons if not reason.code.startswith(_BY_DATA)]
    if answer.outcome == Outcome.DENY and codes:
        return f"have the rules that give {', '.join(codes)} leave out the connector `policy`"
    return (
        f"list in countersign_config/{tenant}/data.json the connector `policy` with the operations `activate` and"
        " `rollback` and the target `policy:*`, and the requirements `policy_activate` and `policy_rollback`"
    )
