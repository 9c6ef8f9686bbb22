"""The audit of the log names a policy that was swapped in the database, with triggers off, in every tenant's log."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from policy.bundle import policy_text, read_policy
from policy.keys import load_or_create
from policy.signing import sign_bundle
from receipts.chain import PROGRAM, Actor
from runtime.services import policy_versions
from runtime.services.audit import audit
from runtime.services.policy_versions import NewPolicyVersion
from runtime.store.definitions import keep_definitions
from runtime.store.policy_versions import Activation, activate_version, lock_policy_versions
from runtime.store.tenants import bind_tenant, salt_of
from tests.bench import TENANT, Bench
from tests.integration.first_version import install_first
from tests.once import Once
from tests.opa_server import SHIPPED
from tests.patience import until

EARLY, LATE = "early", "late"
ACTS = ["policy.seen", "policy.proposed", "policy.activated", "policy.seen", "policy.proposed", "policy.activated"]


async def _play(bench: Bench, folder: Path) -> None:
    """Have two versions come into force: the first with the installation, the second because a run asked for it."""
    key, shipped = load_or_create(folder / "policy.pem"), read_policy(SHIPPED)
    text = policy_text({**shipped.files, "countersign/more.rego": "package countersign.more\n"}, {})
    new = NewPolicyVersion(text, sign_bundle(text, key).data, '["a rule"]', TENANT, "rita", "a change", '{"asked": 3}')
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    async with bench.engine.pool.connection() as conn:
        await salt_of(conn, EARLY)  # a tenant that has done nothing yet
        await install_first(conn, shipped, key, bench.clock())
        version = await policy_versions.propose(conn, new, bench.clock())
    await activate(bench, Activation(version, Actor(id="omar", kind="person"), run_id))


async def activate(bench: Bench, activation: Activation) -> None:
    """Bring a version into force, as the connector does."""
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await lock_policy_versions(conn)
        await activate_version(conn, activation, bench.clock())


TWO_VERSIONS = Once(_play)


@pytest.fixture
async def office(bench: Bench, tmp_path: Path) -> Bench:
    """Give a bench whose second policy version is in force."""
    await TWO_VERSIONS.on(bench, tmp_path)
    return bench


async def found_in(bench: Bench, tenant: str = TENANT) -> set[tuple[str, str]]:
    """Return what the audit of a tenant's log finds: the rule, and where."""
    found = (await asyncio.to_thread(audit, bench.superuser, tenant, [])).findings
    return {(one.rule, one.where) for one in found}


async def policy_acts(bench: Bench, tenant: str) -> list[str]:
    """Return the acts about the policy in a tenant's chain, in their order."""
    query = "SELECT leaf ->> 'event' AS event FROM tenant_leaves WHERE tenant = %s ORDER BY seq"
    return [row["event"] for row in await bench.rows(query, tenant) if row["event"].startswith("policy.")]


async def act_at(bench: Bench, tenant: str) -> None:
    """Have a tenant do something: its chain begins."""
    async with bench.engine.pool.connection() as conn:
        definition = replace(next(iter(bench.definitions.values())), name=f"of-{tenant}")
        await keep_definitions(conn, tenant, [definition], bench.clock())


CHANGED = {
    "the signed bundle of the version in force": (
        "policy_versions SET bundle = '\\x00' WHERE version = 2",
        "version 2",
    ),
    "the rules of a version": ("policy_versions SET rules = '[]' WHERE version = 2", "version 2"),
    "the report of a backtest": ("policy_versions SET report = '{}' WHERE version = 2", "version 2"),
    "a report that is gone": ("policy_versions SET report = NULL WHERE version = 2", "version 2"),
    "a report of the first version": ("policy_versions SET report = '{}' WHERE version = 1", "version 1"),
    "the author of a version": ("policy_versions SET author = 'ann' WHERE version = 2", "version 2"),
    "no author": ("policy_versions SET author = '' WHERE version = 2", "version 2"),
    "where a version is signed": ("policy_versions SET tenant = 'other' WHERE version = 2", "version 2"),
    "what its author said": ("policy_versions SET comment = 'harmless' WHERE version = 2", "version 2"),
    "the text of a version": ("policy_versions SET digest = repeat('0', 64) WHERE version = 2", "version 2"),
    "the version in force": ("policy_activations SET version = 1 WHERE number = 2", "activation 2"),
    "what an activation replaced": ("policy_activations SET replaces = 2 WHERE number = 2", "activation 2"),
    "who activated a version": ("policy_activations SET activated_by = 'rita' WHERE number = 2", "activation 2"),
    "nobody who activated it": ("policy_activations SET activated_by = '' WHERE number = 2", "activation 2"),
    "the run that asked for it": ("policy_activations SET run_id = 'run_other' WHERE number = 2", "activation 2"),
}


@pytest.mark.parametrize("name", CHANGED)
async def test_what_was_changed_of_a_version_or_an_activation_is_named(office: Bench, name: str) -> None:
    change, named = CHANGED[name]
    await office.meddle(f"UPDATE {change}")
    assert await found_in(office) == await found_in(office, EARLY) == {("record.changed", f"policy {named}")}


GONE = {
    "the activation of the version in force": ("policy_activations WHERE number = 2", {"activation 2"}),
    "all activations": ("policy_activations", {"activation 1", "activation 2"}),
    "a version": ("policy_versions WHERE version = 2", {"version 2"}),
}


@pytest.mark.parametrize("name", GONE)
async def test_what_is_gone_of_versions_and_activations_is_named(office: Bench, name: str) -> None:
    deleted, named = GONE[name]
    await office.meddle(f"DELETE FROM {deleted}")
    missing = {("record.missing", f"policy {one}") for one in named}
    assert await found_in(office) == await found_in(office, EARLY) == missing


PUT_IN = {
    "an activation that nobody signed": (
        "policy_activations SELECT 3, 1, 2, 'x', 'run_x', activated_at FROM policy_activations WHERE number = 2",
        "activation 3",
    ),
    "a version that nobody proposed": (
        (
            "policy_versions SELECT 3, repeat('0', 64), bundle, tenant, author, comment, rules, report, proposed_at"
            " FROM policy_versions WHERE version = 2"
        ),
        "version 3",
    ),
}


@pytest.mark.parametrize("name", PUT_IN)
async def test_what_no_act_brought_of_versions_and_activations_is_named(office: Bench, name: str) -> None:
    inserted, named = PUT_IN[name]
    await office.meddle(f"INSERT INTO {inserted}")
    assert await found_in(office) == await found_in(office, EARLY) == {("record.unnamed", f"policy {named}")}


async def test_an_activation_that_was_put_behind_the_last_one_is_named_twice(office: Bench) -> None:
    await office.meddle("UPDATE policy_activations SET number = 3, replaces = 2, run_id = 'run_x' WHERE number = 1")
    moved = {("record.missing", "policy activation 1"), ("record.unnamed", "policy activation 3")}
    assert await found_in(office) == moved


async def test_each_tenant_has_the_acts_and_its_log_holds(office: Bench) -> None:
    assert await found_in(office) == set()
    assert await policy_acts(office, TENANT) == ACTS
    assert await found_in(office, EARLY) == set()
    assert [one for one in await policy_acts(office, EARLY) if one != "policy.seen"] == [
        *["policy.proposed", "policy.activated"] * 2
    ]


async def test_a_tenant_that_begins_later_has_the_acts_and_its_log_holds(office: Bench) -> None:
    await act_at(office, LATE)
    assert await found_in(office, LATE) == await found_in(office) == set()
    assert await policy_acts(office, LATE) == [
        *["policy.seen", "policy.seen"],
        *["policy.proposed", "policy.proposed", "policy.activated", "policy.activated"],
    ]
    await office.meddle("UPDATE policy_activations SET version = 1 WHERE number = 2")
    assert await found_in(office, LATE) == {("record.changed", "policy activation 2")}


async def test_a_tenant_that_begins_while_a_version_is_activated_has_that_act_too(office: Bench) -> None:
    definition = replace(next(iter(office.definitions.values())), name="of-late")
    async with office.engine.pool.connection() as conn, conn.transaction():
        await keep_definitions(conn, LATE, [definition], office.clock())
        activating = asyncio.create_task(activate(office, Activation(1, PROGRAM, "run_of_a_test")))
        await until(lambda: _waits(office))
    await activating
    assert (await policy_acts(office, LATE))[-1] == "policy.activated"
    assert (await policy_acts(office, LATE)).count("policy.activated") == 3
    assert await found_in(office, LATE) == set()


async def test_a_tenant_whose_first_start_falls_into_an_activation_has_that_act_too(office: Bench) -> None:
    async with office.engine.pool.connection() as conn, conn.transaction():
        await lock_policy_versions(conn)
        await activate_version(conn, Activation(1, PROGRAM, "run_of_a_test"), office.clock())
        starting = asyncio.create_task(_start(office, LATE))
        await until(lambda: starting.done() or _waits(office))
    await starting
    assert (await policy_acts(office, LATE)).count("policy.activated") == 3
    assert await found_in(office, LATE) == set()


async def _start(bench: Bench, tenant: str) -> None:
    """Start a tenant for the first time, as a process does that serves it."""
    async with bench.engine.pool.connection() as conn:
        assert await bind_tenant(conn, tenant, mocked=False)
    await act_at(bench, tenant)


async def _waits(bench: Bench) -> bool:
    return bool(await bench.rows("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"))
