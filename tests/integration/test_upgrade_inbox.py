"""An installation of the first release, with what it was waiting for, goes on after an upgrade."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from runtime.model.approvals.votes import RefusalCode
from runtime.model.notification.notification import parse_payload
from runtime.model.notification.people import VotePayload, VoteRefusal
from runtime.store import migrations
from runtime.store.database.migrate import migrate
from tests.integration.program_stage import database

Upgraded = psycopg.Connection[dict[str, Any]]

FIRST = Path(migrations.__path__[0]) / "versions/0001_first_tables.sql"
BEFORE = """
CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY);
INSERT INTO alembic_version VALUES ('0001');
SET session_replication_role = replica;
INSERT INTO waits VALUES ('w1', 'run_1', 'ask', 'external', 'acme:ask:C1', 'tok_1', 0, now(), NULL, '[]', '{}',
                          'active', NULL, now(), NULL);
INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor, request_id,
                           status, outcome, received_at)
SELECT id, 'acme', 'vote', id, 'approval:apr_1', '{"approval_id": "apr_1", "revision": 3, "verdict": "approve",
       "reason": "", "team": "T", "user": "U", "person_id": "ann", "refusal": null}', '{"id": "ann", "kind": "person"}',
       'req', status, outcome::json, now()
  FROM (VALUES ('clicked', 'received', NULL), ('excluded', 'dead_letter', '{"code": "vote.excluded"}'),
               ('unknown', 'dead_letter', '{"code": "vote.unknown"}')) AS v (id, status, outcome);
INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor, request_id,
                           status, received_at)
VALUES ('guest', 'acme', 'vote', 'guest', 'approval:apr_1', '{"approval_id": "apr_1", "revision": 3, "verdict":
        "approve", "reason": "", "team": "T", "user": "U", "person_id": null,
        "refusal": {"code": "identity.guest", "text": "Guests cannot decide."}}',
        '{"id": "slack:T:U", "kind": "person"}', 'req', 'received', now());
"""


@pytest.fixture
def upgraded(postgres: str) -> Iterator[Upgraded]:
    with database(postgres, "upgraded", template="template0") as dsn:
        with psycopg.connect(dsn) as conn:
            conn.execute(FIRST.read_bytes())
            conn.execute(BEFORE.encode())
        migrate(dsn)
        with psycopg.connect(dsn, row_factory=dict_row) as conn:
            yield conn


def test_whoever_was_asked_before_tokens_went_out_may_answer_without_one(
    upgraded: Upgraded,
) -> None:
    (wait,) = upgraded.execute("SELECT correlate, status FROM waits").fetchall()
    assert wait == {"correlate": "by_key", "status": "active"}


def test_a_click_that_was_recorded_and_not_counted_can_still_be(
    upgraded: Upgraded,
) -> None:
    rows = upgraded.execute(
        "SELECT payload FROM notifications WHERE status = 'received' ORDER BY notification_id"
    ).fetchall()
    clicked, guest = (parse_payload("vote", row["payload"]) for row in rows)
    assert isinstance(clicked, VotePayload)
    assert isinstance(guest, VotePayload)
    assert (clicked.stamp, clicked.refusal) == ("", None)
    assert guest.refusal == VoteRefusal(code=RefusalCode.GUEST, about=())


def test_votes_that_did_not_count_are_no_dead_letters(upgraded: Upgraded) -> None:
    rows = upgraded.execute("SELECT notification_id, status FROM notifications ORDER BY 1").fetchall()
    assert {row["notification_id"]: row["status"] for row in rows} == {
        "clicked": "received",
        "excluded": "refused",
        "guest": "received",
        "unknown": "dead_letter",
    }
