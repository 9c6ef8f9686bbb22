"""The store: the database holds the invariants itself; who is behind an account is told apart by its team."""

import psycopg
import pytest

from runtime.model.person import Person
from tests.bench import PEOPLE, TEAM, TENANT, Bench


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("UPDATE runs SET status = 'perhaps'", "ck_runs_status"),
        ("UPDATE runs SET status = 'succeeded', finished_at = NULL", "ck_runs_finished"),
        ("UPDATE effects SET status = 'leased', lease_owner = NULL", "ck_effects_lease"),
        (("INSERT INTO waits (wait_id, run_id, step, type, correlation_key, token, deadline, escalate_at, status,"
         " approval_id, created_at, resolved_at, correlate, moments)"
         " SELECT 'w2', run_id, step, type, 'other', token, deadline, escalate_at,"
         " status, approval_id, created_at, resolved_at, correlate, moments FROM waits"), "uq_waits_approval"),
        (("INSERT INTO waits (wait_id, run_id, step, type, correlation_key, token, deadline, escalate_at, status,"
         " approval_id, created_at, resolved_at, correlate, moments)"
         " SELECT 'w' || n, run_id, step, 'external', 'key' || n, token, deadline, escalate_at,"
         " status, approval_id, created_at, resolved_at, correlate, moments FROM waits, generate_series(1, 2) n"),
         "uq_waits_step"),
        ("UPDATE effects SET claimed = true, idempotency_key = 'same'", "uq_effects_claimed_key"),
        (("INSERT INTO runs SELECT 'run_2', tenant, trigger_type, trigger_ref, trigger, definition_name,"
         " definition_version, status, version, requested_by, requester_kind, submitted_by,"
         " requester_accounts, request_id, salt, writes, audit_seq, audit_hash, error, sealed, created_at,"
         " updated_at, finished_at"
         " FROM runs"), "uq_runs_tenant_trigger_type_trigger_ref"),
    ],
)  # fmt: skip
async def test_the_database_refuses_what_must_not_be(bench: Bench, statement: str, constraint: str) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    with pytest.raises(psycopg.IntegrityError, match=constraint):
        await bench.meddle(statement)


async def test_people_are_known_by_the_team_of_each_account_and_an_agents_account_is_nobodys(bench: Bench) -> None:
    for team, user, actor in (("T0SISTER", "UANN", "ben"), (TEAM, "UPORTAL", "portal-bot")):
        await bench.meddle("INSERT INTO slack_accounts VALUES (%s, %s, %s, %s)", TENANT, team, user, actor)
    ann, ben = (Person(one, one.title(), tuple(PEOPLE[one])) for one in ("ann", "ben"))
    assert await bench.desk.people("UANN") == {TEAM: [ann], "T0SISTER": [ben]}
    assert await bench.desk.people("UPORTAL") == {TEAM: []}
    assert await bench.desk.people("UNOBODY") == {}
