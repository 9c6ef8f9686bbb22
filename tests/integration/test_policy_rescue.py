"""Ways out of an emergency of the policy: one person rolls it back, and a new key serves what is in force.

Nobody needs another policy for that: who signs is said by the previous version, and what decides by the same text.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evidence.local import LocalArchive
from evidence.replay import Opa, replayed_by
from evidence.verify.verify import verify
from policy.bundle import PolicyFolders, read_policy
from policy.client import OpaEngine
from policy.contract import Outcome, PolicyUnavailableError
from policy.keys import load_or_create
from policy.signing import sign_bundle
from receipts.signing import public_path
from runtime.gate.emergency import ask_version_before
from runtime.services.audit import audit
from tests.bench import TENANT
from tests.integration.conftest import Targets
from tests.integration.policies_stage import break_glass
from tests.integration.test_policy_versions import decided
from tests.integration.test_signed_policies import digest_of, opa, put, verifying
from tests.integration.versions_stage import SIGNERS, PolicyLife, denies_all, more_writes, open_life, with_versions
from tests.opa_server import PACKS, POLICIES, opa_program, question
from tests.patience import MINUTE
from tests.sealing import sealer_of


@pytest.fixture
async def life(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[PolicyLife]:
    async with open_life(dsn, targets, tmp_path) as opened:
        yield opened


async def _deny_everything(life: PolicyLife) -> None:
    """Bring a second version into force, which denies everything."""
    await life.install()
    nothing = life.changed("nothing", denies_all)
    await life.activate(await life.propose(nothing))
    await life.sign(*SIGNERS)
    await life.serve(nothing)
    assert await life.in_force() == 2


async def _asked_to_roll_back(life: PolicyLife, by: str) -> tuple[str, str]:
    """Have somebody ask for the previous version; return the run and its request."""
    run_id = (await life.rollback(by))["run_id"]
    (row,) = await life.bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s AND kind = 'effect'", run_id)
    return run_id, str(row["approval_id"])


async def _seal(life: PolicyLife, folder: Path) -> Path:
    """Seal every run that is over into a folder; return the public key."""
    key = folder / "keys/evidence.pem"
    sealer = sealer_of(life.bench.engine, LocalArchive(folder / "evidence"), key)
    while await sealer():
        pass
    return public_path(key)


async def test_one_operator_rolls_a_policy_back_that_denies_everything(life: PolicyLife, tmp_path: Path) -> None:
    await _deny_everything(life)
    run_id, approval = await _asked_to_roll_back(life, "rita")
    assert (await break_glass(life.bench, "omar", approval, "nothing works", "INC-9")).counted
    await life.bench.settle()
    assert await life.in_force() == 1
    votes = await life.bench.rows("SELECT person, break_glass FROM votes WHERE approval_id = %s", approval)
    assert votes == [{"person": "omar", "break_glass": {"ticket": "INC-9", "nth": 1}}]

    await life.serve(POLICIES)
    await life.bench.later(minutes=1)
    told = [call for call in life.bench.chat.said("direct_message") if "used break-glass" in call["text"]]
    assert sorted(call["user"] for call in told) == ["UPAM", "URITA", "USAM"]
    assert all("INC-9" in call["text"] and "nothing works" in call["text"] for call in told)

    review = await life.bench.approval_id("afterwards")
    assert (await life.bench.click("sue", review)).counted
    await life.bench.later(minutes=1)
    assert (await life.bench.run(run_id))["status"] == "succeeded"
    key = await _seal(life, tmp_path)
    assert verify(tmp_path / f"evidence/{run_id}.zip", key, replayed_by(Opa(opa_program()))).run_id == run_id
    assert (await asyncio.to_thread(audit, life.bench.superuser, TENANT, ())).findings == []


async def test_who_asks_for_a_rollback_does_not_do_it_alone(life: PolicyLife) -> None:
    await _deny_everything(life)
    _, approval = await _asked_to_roll_back(life, "omar")
    refusal = (await break_glass(life.bench, "omar", approval, "nothing works", "INC-9")).refusal
    assert refusal is not None
    assert refusal.code == "vote.requester"
    await life.bench.settle()
    assert await life.in_force() == 2


def _authors_do_not_sign(config: dict[str, Any]) -> None:
    """Have the directory say who the author of a version is whose rollback people sign."""
    when = {"connector": ["policy"], "operation": ["rollback"]}
    config["limits"] = {"author": {"comment": "No author signs", "when": when, "exclude": ["author"]}}


async def test_a_rollback_is_not_decided_while_the_people_whom_it_names_cannot_be_read(life: PolicyLife) -> None:
    await life.serve(life.changed("authors", _authors_do_not_sign))
    await _deny_everything(life)
    asked = question(connector="policy", operation="rollback", target="policy:1", fields={"author": "rita"})
    told = await ask_version_before(life.bench.engine, asked)
    assert (told.answer.outcome, told.named) == (Outcome.NEEDS_APPROVAL, {"author": ["rita"]})
    await life.bench.meddle("REVOKE SELECT ON slack_accounts FROM countersign_program")
    with pytest.raises(PolicyUnavailableError, match="asks who is named in the effect, and the directory was not read"):
        await ask_version_before(life.bench.engine, asked)


@asynccontextmanager
async def _served_from_a_file(life: PolicyLife, key: Path) -> AsyncIterator[PolicyLife]:
    """Give an installation that trusts a new key alone, and whose OPA serves a file that this one has signed.

    The file holds the very text of the version in force.
    """
    new, work = load_or_create(key), key.parent / "served"
    put(work, sign_bundle(read_policy(PolicyFolders(life.folder, PACKS)), new).data)
    async with opa(work, *verifying(key)) as served, OpaEngine(served.url, timeout=MINUTE, fresh=0.0) as policy:
        await digest_of(served)
        bench = replace(life.bench, engine=replace(life.bench.engine, policy=policy))
        yield replace(life, bench=with_versions(bench, new), key=new)


async def test_an_opa_that_serves_the_text_in_force_signed_by_a_new_key_decides_and_brings_the_next_one(
    life: PolicyLife, tmp_path: Path
) -> None:
    await life.install()
    (first,) = await life.bench.rows("SELECT digest FROM policy_versions")
    async with _served_from_a_file(life, tmp_path / "new/policy.pem") as rescued:
        document = await decided(rescued, "rescued")
        assert (document["outcome"], document["policy_digest"]) == ("needs_approval", first["digest"])
        assert "development" not in document
        await rescued.activate(await rescued.propose(rescued.changed("next", more_writes)))
        await rescued.sign(*SIGNERS)
        assert await rescued.in_force() == 2
        run_id, _ = await _asked_to_roll_back(rescued, "rita")
        await rescued.sign(*SIGNERS)
        (effect,) = await life.bench.rows("SELECT error FROM effects WHERE run_id = %s AND status = 'failed'", run_id)
        assert "its bundle would be refused by OPA: the bundle is signed by the key" in effect["error"]
        assert await rescued.in_force() == 2
