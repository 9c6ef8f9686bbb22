"""Many requests at once: copies of one that was asked for, as the database would have them."""

from tests.bench import Bench

_COPIES = """
    WITH one AS (SELECT * FROM approvals WHERE approval_id = %(id)s),
    n AS (SELECT to_char(generate_series(1, %(count)s), 'FM000000') AS n),
    runs_of AS (
        INSERT INTO runs SELECT copy.* FROM runs r JOIN one USING (run_id), n,
               LATERAL jsonb_populate_record(NULL::runs, to_jsonb(r) || jsonb_build_object(
                   'run_id', r.run_id || n, 'trigger_ref', 'REF-' || n, 'reference', 'REF-' || n)) copy RETURNING 1),
    effects_of AS (
        INSERT INTO effects SELECT copy.* FROM effects e JOIN one USING (effect_id), n,
               LATERAL jsonb_populate_record(NULL::effects, to_jsonb(e) || jsonb_build_object(
                   'run_id', e.run_id || n, 'effect_id', e.effect_id || n, 'dedupe_key', e.dedupe_key || n)) copy
        RETURNING 1)
    INSERT INTO approvals SELECT copy.* FROM one, n,
           LATERAL jsonb_populate_record(NULL::approvals, to_jsonb(one) || jsonb_build_object(
               'approval_id', one.approval_id || n, 'run_id', one.run_id || n, 'effect_id', one.effect_id || n,
               'expires_at', one.expires_at + n::int * interval '1 second')) copy
"""


async def copies(bench: Bench, approval_id: str, count: int) -> None:
    """Have so many more requests open that are like this one, in runs `REF-000001` and on, each later than the last."""
    query = _COPIES.replace("%(id)s", f"'{approval_id}'").replace("%(count)s", str(count))
    await bench.meddle(query)
    await bench.meddle("ANALYZE")
