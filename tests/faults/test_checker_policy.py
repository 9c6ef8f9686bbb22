"""The checker holds what is right of versions of the policy for right, and finds whatever is not."""

from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.faults.checker.facts import facts_of
from tests.faults.checker.policy_rules import is_postponed
from tests.faults.checker.rules import broken
from tests.faults.policy_world import PolicyWorld, policy_world
from tests.faults.small_world import FILE, NOTE
from tests.faults.world.bugs import Bug, plant
from tests.integration.program_stage import database
from tests.integration.versions_stage import more_writes
from tests.leaves import meddle


@pytest.fixture(scope="module")
async def world(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PolicyWorld]:
    """A world in which two versions came into force, and the second one was rolled back: something happened in each."""
    with database(postgres, "policy_world") as dsn:
        async with policy_world(dsn, tmp_path_factory.mktemp("world")) as small:
            await _live(small)
            yield small


async def _live(world: PolicyWorld) -> None:
    small, life = world.small, world.life
    await small.start("bench.note", {**NOTE, "incident": "before"}, "before")
    await small.bench.settle()
    await life.install()
    first, second = life.changed("first", lambda _: None), life.changed("second", more_writes)
    await small.start("bench.file", FILE, "first")
    await small.bench.settle()
    await small.bench.later(minutes=1)  # that no version was in force is known no more
    await small.sign("ann", "ben")
    await world.activate(await life.propose(second))
    await world.sign()
    await small.start("bench.note", {**NOTE, "incident": "postponed"}, "postponed")
    await small.bench.settle()
    await life.serve(second)
    await small.bench.later(minutes=1)
    await world.rollback()
    await world.sign()
    await life.serve(first)
    await small.bench.later(minutes=1)
    await small.start("bench.note", {**NOTE, "incident": "after"}, "after")
    await small.seal()


def _wrong(world: PolicyWorld, *queries: str) -> dict[str, list[str]]:
    """Return what the checker says where somebody meddled with the database; nothing stays."""
    with psycopg.connect(world.small.bench.superuser, row_factory=dict_row) as conn:
        conn.execute("SET session_replication_role = replica")
        for query in queries:
            meddle(conn, query)
        found = broken(facts_of(conn, world.small.histories))
        conn.rollback()
    return found


def test_nothing_is_wrong_with_what_is_right(world: PolicyWorld) -> None:
    assert _wrong(world) == {}


def test_the_world_has_decisions_of_each_version_of_none_and_one_that_was_postponed(world: PolicyWorld) -> None:
    with psycopg.connect(world.small.bench.superuser, row_factory=dict_row) as conn:
        facts = facts_of(conn, world.small.histories)
    assert [row["version"] for row in facts.tables["activations"]] == [1, 2, 1]
    assert any(is_postponed(row) for row in facts.tables["leaves"])
    versions = {row["digest"]: row["version"] for row in facts.tables["versions"]}
    told = {(versions[row["policy_digest"]], "development" in row["document"]) for row in facts.tables["decisions"]}
    assert told == {(1, True), (1, False), (2, False)}


_DIGEST = "(SELECT digest FROM policy_versions WHERE version = {})"
_ACT = "leaf ->> 'event' = 'policy.activated' AND leaf -> 'data' ->> 'number' = '2'"
_RUN = "(SELECT run_id FROM policy_activations WHERE number = 2)"
MEDDLED = {
    "a decision by the previous version": (
        "UPDATE policy_decisions SET policy_digest = policy_digest WHERE policy_digest = " + _DIGEST.format(2),
        "decisions_are_of_the_policy_in_force",
    ),
    "a decision by a text of no version": (
        "DELETE FROM policy_versions WHERE version = 2",
        "decisions_are_of_the_policy_in_force",
    ),
    "a decision that says development while a version is in force": (
        (
            "UPDATE policy_decisions SET document = (document::jsonb || '{\"development\": true}')::json"
            " WHERE policy_digest = " + _DIGEST.format(1)
        ),
        "decisions_are_of_the_policy_in_force",
    ),
    "a decision by one version whose answer is another's": (
        (
            "UPDATE policy_decisions SET document = jsonb_set(document::jsonb, '{answer,requirement,expires_in}',"
            " '\"PT7M\"')::json WHERE outcome = 'needs_approval'"
        ),
        "decisions_are_of_the_text_they_name",
    ),
    "a decision whose text is gone": (
        "DELETE FROM policy_texts WHERE digest = " + _DIGEST.format(2),
        "decisions_are_of_the_text_they_name",
    ),
    "a text that was changed": (
        'UPDATE policy_texts SET files = (files::jsonb || \'{"a.rego": "package a"}\')::json',
        "decisions_are_of_the_text_they_name",
    ),
    "an activation that was lost": ("DELETE FROM policy_activations WHERE number = 3", "activations_are_of_runs"),
    "an activation that was done twice": (
        (
            "DROP INDEX uq_policy_activations_run_id;"
            " INSERT INTO policy_activations SELECT 4, version, version, activated_by, run_id, activated_at"
            " FROM policy_activations WHERE number = 3"
        ),
        "activations_are_of_runs",
    ),
    "an activation that skips one": (
        "UPDATE policy_activations SET number = 9 WHERE number = 3",
        "activations_are_of_runs",
    ),
    "an activation that replaces another version": (
        "UPDATE policy_activations SET replaces = 1 WHERE number = 3",
        "activations_are_of_runs",
    ),
    "an activation of another version than people signed": (
        f"UPDATE runs SET trigger = jsonb_set(trigger::jsonb, '{{version}}', '7')::json WHERE run_id = {_RUN}",
        "activations_are_of_runs",
    ),
    "an activation by a run that failed": (
        f"UPDATE runs SET status = 'failed_terminal' WHERE run_id = {_RUN}",
        "activations_are_of_runs",
    ),
    "an activation by a run of something else": (
        f"UPDATE runs SET definition_name = 'bench-note' WHERE run_id = {_RUN}",
        "activations_are_of_runs",
    ),
    "an activation that one person signed": (
        "DELETE FROM votes WHERE person = 'sam'",
        "activations_are_signed",
    ),
    "an activation that its author signed": (
        "UPDATE policy_versions SET author = 'sam'",
        "activations_are_signed",
    ),
    "an act of an activation that is gone": (
        f"DELETE FROM tenant_leaves WHERE {_ACT}",
        "activations_are_on_record",
    ),
    "an act of an activation that was doubled": (
        (
            "INSERT INTO tenant_leaves SELECT tenant, seq + 1000, hash, leaf, once || '_' FROM tenant_leaves"
            f" WHERE {_ACT}"
        ),
        "activations_are_on_record",
    ),
    "an act of a proposal that is gone": (
        "DELETE FROM tenant_leaves WHERE leaf ->> 'event' = 'policy.proposed'",
        "activations_are_on_record",
    ),
    "a tenant whose chain tells of no activation": (
        (
            "INSERT INTO tenants (tenant, salt, audit_seq) VALUES ('other', 's', 1);"
            " INSERT INTO tenant_leaves SELECT 'other', 1, hash, leaf, 'x' FROM tenant_leaves WHERE seq = 1"
        ),
        "activations_are_on_record",
    ),
    "a wish that is gone": (
        "DELETE FROM notifications WHERE kind = 'activate_policy'",
        "wishes_for_versions_are_kept",
    ),
    "a wish that nobody had": (
        (
            "INSERT INTO notifications SELECT (jsonb_populate_record(n, jsonb_build_object('notification_id', 'ntf_x',"
            " 'dedupe_key', 'x'))).* FROM notifications n WHERE kind = 'activate_policy'"
        ),
        "wishes_for_versions_are_kept",
    ),
    "a run for which nobody wished": (
        f"UPDATE runs SET trigger_ref = 'ntf_other' WHERE run_id = {_RUN}",
        "wishes_for_versions_are_kept",
    ),
    "a wish whose run is gone": (f"DELETE FROM runs WHERE run_id = {_RUN}", "wishes_for_versions_are_kept"),
    "a postponed effect that is open": (
        (
            "UPDATE effects SET status = 'failed' WHERE run_id = (SELECT run_id FROM runs"
            " WHERE trigger_ref = 'postponed');"
            " DELETE FROM audit_leaves WHERE leaf ->> 'event' = 'decision.recorded'"
        ),
        "postponed_effects_are_decided",
    ),
}


@pytest.mark.parametrize("what", MEDDLED)
def test_what_was_meddled_with_is_found(world: PolicyWorld, what: str) -> None:
    queries, rule = MEDDLED[what]
    assert rule in _wrong(world, *queries.split("; "))


async def test_a_decision_of_a_version_that_was_replaced_is_caught(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with policy_world(dsn, tmp_path) as world:
        await world.life.install()
        await world.activate(await world.life.propose(world.life.changed("second", more_writes)))
        await world.small.bench.later(minutes=1)
        await world.sign()
        plant(Bug.NO_POLICY_FENCE, monkeypatch.setattr)
        await world.small.start("bench.note", NOTE, "late")
        await world.small.seal()
        found = (await world.small.wrong())["decisions_are_of_the_policy_in_force"]
        assert all(sentence.endswith("is by version 1, and {2} was to decide") for sentence in found)
