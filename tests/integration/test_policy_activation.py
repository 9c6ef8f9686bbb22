"""What keeps a version of the policy from coming into force: when it is wished for, signed, or performed."""

import json
import re
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policy.bundle import PolicyFolders, read_policy
from policy.errors import PolicyError
from policy.keys import load_or_create
from policy.signing import sign_bundle
from receipts.chain import Actor
from runtime.handlers import Call
from runtime.inbox import inbox
from runtime.model.commands import POLICY_ROLLBACK
from runtime.planning import triggers
from runtime.planning.triggers import Trigger
from runtime.services import policy_versions
from runtime.services.operator import OperatorService
from runtime.services.policy_versions import VersionRefusedError
from runtime.store import directory
from runtime.store.policy_versions import signers_of
from tests.bench import EDITION, TENANT
from tests.integration.acts_stage import delegate
from tests.integration.conftest import Targets
from tests.integration.versions_stage import CONFIG, SIGNERS, PolicyLife, denies_all, more_writes, open_life
from tests.logins import loading
from tests.opa_server import PACKS, edit_policy

APPROVALS, DUTIES = "countersign/approvals.rego", "countersign/duties.rego"
DEMAND = '{"requirement": concat("_", ["policy", input.effect.operation]), "reason": reason}'
AUTHOR = '_author := {object.get(input.effect.fields, "author", "")} if'
NOBODY_ELSE = "nobody but its author has signed"


@pytest.fixture
async def life(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[PolicyLife]:
    async with open_life(dsn, targets, tmp_path) as opened:
        yield opened


async def _begin_with(life: PolicyLife, change: Callable[[Path], object]) -> None:
    """Install another policy than the one that comes with the program."""
    folder = shutil.copytree(life.folder, life.folder.parent / "own")
    change(folder)
    await life.serve(folder)
    await life.install()


async def _why_refused(life: PolicyLife) -> str:
    """Return why the one change of the policy that did not succeed failed."""
    (found,) = await life.bench.rows(
        "SELECT r.status, e.status AS effect, e.error FROM effects e JOIN runs r USING (run_id)"
        " WHERE e.connector = 'policy' AND r.status <> 'succeeded'"
    )
    assert (found["status"], found["effect"]) == ("failed_terminal", "failed")
    return str(found["error"])


async def _ask(life: PolicyLife, author: str = "rita") -> None:
    """Have the next version asked for, in an installation that has just begun."""
    await life.activate(await life.propose(life.changed("next", more_writes), author))
    await life.bench.later(minutes=1)


async def _sign(life: PolicyLife, run_id: str) -> None:
    """Have people sign what a run asks for."""
    (row,) = await life.bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s AND kind = 'effect'", run_id)
    for person in SIGNERS:
        assert (await life.bench.click(person, row["approval_id"])).counted
    await life.bench.settle()


async def _come_into_force(life: PolicyLife, name: str, writes: int) -> None:
    """Bring another version into force, and have OPA serve it."""
    folder = life.changed(name, lambda config: config.update(writes_per_run=writes))
    facts = await life.activate(await life.propose(folder))
    await _sign(life, facts["run_id"])
    await life.serve(folder)


def _asks_nobody(folder: Path) -> None:
    edit_policy(folder, APPROVALS, DEMAND, '{"requirement": "none", "reason": reason}')


def _asks_one_person(folder: Path) -> None:
    """Let one person of compliance sign, who may be the author."""
    edit_policy(folder, DUTIES, AUTHOR, "_author := set() if")
    file = folder / CONFIG
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["policy_activate"] |= {"groups": ["compliance"], "quorum": 1, "all_groups": False}
    file.write_text(json.dumps(config), encoding="utf-8")


async def test_a_policy_that_asks_nobody_does_not_bring_the_next_version_into_force(life: PolicyLife) -> None:
    await _begin_with(life, _asks_nobody)
    await _ask(life)
    assert NOBODY_ELSE in await _why_refused(life)
    assert await life.in_force() == 1


async def test_an_author_whom_the_policy_lets_sign_alone_does_not_bring_their_version_into_force(
    life: PolicyLife,
) -> None:
    await _begin_with(life, _asks_one_person)
    await _ask(life, author="ann")
    await life.sign("ann")
    assert NOBODY_ELSE in await _why_refused(life)
    assert await life.in_force() == 1


async def test_one_other_person_is_enough_where_the_policy_says_so(life: PolicyLife) -> None:
    await _begin_with(life, _asks_one_person)
    await _ask(life, author="ann")
    await life.sign("ben")
    assert await life.in_force() == 2


async def test_signatures_count_once_an_attempt_uses_them_up(life: PolicyLife) -> None:
    await life.signed()
    (run,) = await life.bench.rows("SELECT run_id FROM runs")
    async with life.bench.engine.pool.connection() as conn:
        assert await signers_of(conn, run["run_id"]) == []
        await life.bench.settle()
        assert await signers_of(conn, run["run_id"]) == list(SIGNERS)


SWAPPED = {
    "text": ("version = CASE version WHEN 2 THEN 9 WHEN 3 THEN 2 ELSE version END", "there is no policy version 2"),
    "author": ("author = 'ann'", "there is no policy version 2"),
    "report": ("report = '{}'", "the report of its backtest is not the one that was signed"),
    "bundle": (
        "bundle = (SELECT bundle FROM policy_versions WHERE version = 3)",
        "its bundle is not the one that was signed",
    ),
}


@pytest.mark.parametrize("what", SWAPPED)
async def test_what_was_swapped_after_people_signed_does_not_come_into_force(life: PolicyLife, what: str) -> None:
    change, why = SWAPPED[what]
    await life.signed()
    await life.propose(life.changed("third", denies_all))
    for version in (2, 3):
        await life.bench.meddle(f"UPDATE policy_versions SET {change} WHERE version = {version}")
    await life.bench.settle()
    assert why in await _why_refused(life)
    assert await life.in_force() == 1


async def test_a_bundle_that_no_trusted_key_has_signed_does_not_come_into_force(
    life: PolicyLife, tmp_path: Path
) -> None:
    await life.install()
    life.key = load_or_create(tmp_path / "stranger/policy.pem")
    await _ask(life)
    await life.sign(*SIGNERS)
    assert "its bundle would be refused by OPA" in await _why_refused(life)
    assert await life.in_force() == 1


async def test_a_bundle_of_another_text_than_people_saw_does_not_come_into_force(life: PolicyLife) -> None:
    await life.install()
    new = await life.made(life.changed("next", more_writes), "rita")
    other = sign_bundle(read_policy(PolicyFolders(life.changed("other", denies_all), PACKS)), life.key)
    async with life.bench.engine.pool.connection() as conn:
        version = await policy_versions.propose(conn, replace(new, bundle=other.data), life.bench.clock())
    await life.activate(version)
    await life.sign(*SIGNERS)
    assert "its bundle is of another version" in await _why_refused(life)
    assert await life.in_force() == 1


async def test_of_two_versions_signed_in_place_of_the_same_one_the_second_has_to_be_asked_for_again(
    life: PolicyLife,
) -> None:
    await life.install()
    second = await life.activate(await life.propose(life.changed("second", more_writes)))
    third = await life.activate(await life.propose(life.changed("third", denies_all)))
    await _sign(life, second["run_id"])
    await life.serve(life.folder.parent / "second")
    await _sign(life, third["run_id"])
    await life.bench.later(minutes=1)
    assert await _why_refused(life) == "policy version 1 was in force, and now it is 2; ask again"
    assert await life.in_force() == 2


async def test_what_a_run_has_done_is_not_done_again(life: PolicyLife) -> None:
    await life.signed()
    await life.bench.settle()
    (effect,) = await life.bench.rows("SELECT run_id, fields, target, idempotency_key FROM effects"
                                      " WHERE connector = 'policy'")  # fmt: skip
    again = Call(
        tenant=TENANT,
        run_id=effect["run_id"],
        step="activation",
        operation="activate",
        params=effect["fields"],
        target=effect["target"],
        key=effect["idempotency_key"],
        correlation_key="",
        token="",
        before=None,
    )
    assert await life.bench.engine.handlers["policy::activate"].run(again) == {"version": 2}
    assert await life.bench.rows("SELECT number FROM policy_activations ORDER BY number") == [
        {"number": 1},
        {"number": 2},
    ]


async def test_a_rollback_goes_to_the_version_before_and_to_no_other(life: PolicyLife) -> None:
    await life.install()
    await _come_into_force(life, "second", 70)
    await _come_into_force(life, "third", 80)
    run_id = await _forge_rollback(life, 1)
    await life.bench.settle()
    await _sign(life, run_id)
    assert await _why_refused(life) == "the previous version is 2"
    assert await life.in_force() == 3
    await life.rollback()
    await life.sign(*SIGNERS)
    assert await life.in_force() == 2


async def _forge_rollback(life: PolicyLife, version: int) -> str:
    """Start a run of the program's own rollback that names a version which no wish would; return the run."""
    engine = life.bench.engine
    (row,) = await life.bench.rows(
        "SELECT version, digest, encode(sha256(bundle), 'hex') AS bundle, author, comment FROM policy_versions"
        " WHERE version = %s",
        version,
    )
    said: dict[str, Any] = {
        "report": "",
        "replaces": await life.in_force(),
        "changes": [],
        "backtest": [],
        "worst": "",
        "reason": "forged",
    }
    async with engine.pool.connection() as conn:
        definition = await engine.definitions.get(conn, POLICY_ROLLBACK, 1)
    by = Actor(id="omar", kind="person")
    trigger = Trigger(TENANT, definition.trigger_type, "forged", {**row, **said}, by, "omar", "req-1")
    return (await triggers.claim(engine, definition, trigger)).run_id


async def test_a_version_that_no_opa_serves_is_rolled_back(life: PolicyLife) -> None:
    await life.signed()
    await life.bench.settle()
    await life.rollback()
    await life.sign(*SIGNERS)
    assert await life.in_force() == 1


async def test_the_first_version_is_not_rolled_back(life: PolicyLife) -> None:
    await life.install()
    facts = await life.rollback()
    assert (facts["status"], facts["reason"]) == (
        "refused",
        "policy version 1 is the first one: there is none before it",
    )


async def test_where_no_version_is_in_force_none_is_asked_for(life: PolicyLife) -> None:
    for facts in (await life.activate(1), await life.rollback()):
        assert facts["status"] == "refused"
        assert "no policy version is in force" in facts["reason"]


async def test_a_version_that_is_in_force_or_not_there_is_not_asked_for(life: PolicyLife) -> None:
    await life.install()
    assert (await life.activate(1))["reason"] == "policy version 1 is in force"
    assert (await life.activate(7))["reason"] == "there is no policy version 7"
    assert await life.bench.rows("SELECT 1 FROM runs") == []


async def test_a_text_is_proposed_once_and_only_where_a_version_is_in_force(life: PolicyLife) -> None:
    new = await life.made(life.changed("next", more_writes), "rita")
    async with life.bench.engine.pool.connection() as conn:
        with pytest.raises(VersionRefusedError, match="no version is in force yet"):
            await policy_versions.propose(conn, new, life.bench.clock())
        await life.install()
        assert await policy_versions.propose(conn, new, life.bench.clock()) == 2
        with pytest.raises(VersionRefusedError, match="version 2 has this very text"):
            await policy_versions.propose(conn, new, life.bench.clock())


async def test_a_policy_is_installed_once(life: PolicyLife) -> None:
    first = await life.install()
    life.folder = life.changed("next", more_writes)
    assert await life.install() == first
    assert await life.in_force() == 1


def _configure(folder: Path, tenant: str) -> Path:
    """Give a tenant a configuration, that of the bench's own."""
    file = folder / CONFIG.replace(TENANT, tenant)
    file.parent.mkdir()
    shutil.copy(folder / CONFIG, file)
    return folder


def _beta_writes_more(folder: Path) -> Path:
    file = folder / CONFIG.replace(TENANT, "beta")
    config = json.loads(file.read_text(encoding="utf-8"))
    more_writes(config)
    file.write_text(json.dumps(config), encoding="utf-8")
    return folder


async def test_a_change_that_concerns_several_tenants_is_refused(life: PolicyLife) -> None:
    _configure(life.folder, "beta")
    await life.install()
    folder = _beta_writes_more(life.changed("next", more_writes))
    with pytest.raises(PolicyError, match="the change concerns acme, beta, and each signs its own"):
        await life.propose(folder)
    async with life.bench.engine.pool.connection() as conn:
        version = await policy_versions.propose(conn, await life.made(folder, "rita"), life.bench.clock())
    facts = await life.activate(version)
    assert facts["status"] == "refused"
    assert "the change concerns acme, beta" in facts["reason"]


async def test_configuration_of_another_tenant_is_signed_there(life: PolicyLife) -> None:
    _configure(life.folder, "beta")
    await life.install()
    version = await life.propose(_beta_writes_more(life.changed("next", lambda _: None)))
    assert (await life.activate(version))["reason"] == "this change is signed in tenant beta"
    facts = await _activate_in(life, "beta", version)
    (run,) = await life.bench.rows("SELECT tenant FROM runs WHERE run_id = %s", facts["run_id"])
    assert run["tenant"] == "beta"


async def test_a_tenant_in_which_nobody_can_sign_yet_is_signed_in_the_tenant_of_the_rules(life: PolicyLife) -> None:
    await life.install()
    version = await life.propose(_configure(life.changed("next", lambda _: None), "beta"))
    await life.activate(version)
    await life.sign(*SIGNERS)
    assert await life.in_force() == version


async def test_a_card_shows_what_permits_more_first(life: PolicyLife) -> None:
    await life.install()
    folder = life.changed("next", more_writes)
    for name in ("limits", "duties", "approvals", "connectors"):
        file = folder / f"countersign/{name}.rego"
        file.write_text(re.sub("# title: ", "# title: New ", file.read_text(encoding="utf-8")), encoding="utf-8")
    await life.activate(await life.propose(folder))
    (row,) = await life.bench.rows("SELECT fields FROM effects WHERE connector = 'policy'")
    assert row["fields"]["changes"][0]["what"] == "acme.writes_per_run"
    assert len(row["fields"]["changes"]) > 20


async def test_rules_are_signed_in_the_tenant_of_the_installation(life: PolicyLife) -> None:
    await life.install()
    folder = life.changed("next", lambda _: None)
    edit_policy(folder, DUTIES, "title: Excluded", "title: Left out")
    facts = await _activate_in(life, "beta", await life.propose(folder))
    assert facts["reason"] == f"this change is signed in tenant {TENANT}"


async def _activate_in(life: PolicyLife, tenant: str, version: int) -> dict[str, Any]:
    """Ask for a version as an operator of another tenant; return what became of the wish."""
    engine = replace(life.bench.engine, tenant=tenant)
    person = {"id": "omar", "kind": "person", "name": "Omar", "groups": ["operators"], "grants": {}}
    async with loading(life.bench.superuser) as conn:
        await directory.replace_directory(conn, tenant, EDITION, [person], [], engine.clock())
    asked = await OperatorService(engine.pool, engine.clock, tenant).activate_policy("omar", version, "it is time")
    return dict(await inbox.apply(engine, asked))


async def test_an_operator_does_nothing_by_the_answer_of_an_older_version(life: PolicyLife) -> None:
    nxt = await life.signed()
    await life.bench.settle()
    assert (await delegate(life.bench, "ben", "cat", "compliance"))["status"] == "received"
    assert await life.bench.rows("SELECT 1 FROM delegations") == []
    await life.serve(nxt)
    await life.bench.later(minutes=1)
    assert len(await life.bench.rows("SELECT 1 FROM delegations")) == 1
