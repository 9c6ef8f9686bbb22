"""Leaves one by one: a view of `leaf_sets` for tests, and how they change what no program may.

The view makes leaves whole by SQL of its own: what the program reads of a row is held against another reader.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.rows import dict_row

_VIEW = """
    CREATE VIEW audit_leaves AS
    SELECT s.run_id, s.first_seq + place::int - 1 AS seq, substring(s.hashes FROM 32 * place::int - 31 FOR 32) AS hash,
           concat('{"actor":', coalesce(own -> 'actor', '{"id":"countersign","kind":"system"}'),
                  ',"at":"', coalesce(own ->> 'at', to_char(s.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
                  '","correlation":{"approval_id":', coalesce(own -> 'approval_id', 'null'),
                  ',"effect_id":', coalesce(own -> 'effect_id', 'null'),
                  ',"request_id":', coalesce(own -> 'request_id', to_json(s.request_id), 'null'),
                  ',"run_id":', to_json(s.run_id), ',"step":', coalesce(own -> 'step', 'null'),
                  '},"data":', own -> 'data', ',"event":', own -> 'event', '}')::json AS leaf, s.xmin::text AS tx
      FROM leaf_sets s CROSS JOIN json_array_elements(s.leaves) WITH ORDINALITY AS l (own, place);
    GRANT SELECT ON audit_leaves TO PUBLIC
"""
_TAKE_APART = "CREATE TEMP TABLE audit_leaves AS SELECT * FROM public.audit_leaves"
_PUT_BACK = """
    DELETE FROM leaf_sets;
    INSERT INTO leaf_sets (run_id, first_seq, at, request_id, hashes, leaves)
    SELECT run_id, seq, (leaf ->> 'at')::timestamptz, leaf -> 'correlation' ->> 'request_id', hash,
           json_build_array(json_build_object(
               'actor', leaf -> 'actor', 'step', leaf -> 'correlation' -> 'step',
               'approval_id', leaf -> 'correlation' -> 'approval_id',
               'effect_id', leaf -> 'correlation' -> 'effect_id',
               'data', leaf -> 'data', 'event', leaf -> 'event'))
      FROM audit_leaves;
    DROP TABLE audit_leaves
"""


def make_view(dsn: str) -> None:
    """Have the database show its leaves one by one."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(_VIEW)


def meddle(conn: psycopg.Connection[Any], query: str, values: Sequence[Any] | None = None) -> list[dict[str, Any]]:
    """Run a query past every trigger; one that changes `audit_leaves` changes what the view shows."""
    is_change = "audit_leaves" in query and not query.lstrip().startswith(("SELECT", "INSERT INTO log_pending"))
    with conn.cursor(row_factory=dict_row) as cursor:
        if is_change:
            cursor.execute(_TAKE_APART, prepare=False)
        cursor.execute(query.encode(), values, prepare=False)
        found = cursor.fetchall() if cursor.description else []
        if is_change:
            cursor.execute(_PUT_BACK, prepare=False)
    return found
