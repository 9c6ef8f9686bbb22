-- Programs of the release before may still be running. What they are writing is waited for, and moved, too; what they
-- would write from here on fails. Runs come first, as in each of their transactions.
LOCK TABLE runs, steps, effects, waits, policy_decisions, receipts, audit_leaves IN ACCESS EXCLUSIVE MODE;

-- What a transaction appends to a run's chain. The columns say what its leaves have in common, and each leaf leaves out
-- what is usual: members that are null, and the program as the actor.
CREATE TABLE leaf_sets (
    run_id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    request_id TEXT,
    hashes BYTEA NOT NULL,
    leaves JSON NOT NULL,
    CONSTRAINT pk_leaf_sets PRIMARY KEY (run_id, first_seq),
    CONSTRAINT ck_leaf_sets_first_seq CHECK (first_seq >= 1),
    CONSTRAINT ck_leaf_sets_hashes CHECK (length(hashes) >= 32 AND length(hashes) = 32 * json_array_length(leaves))
);

INSERT INTO leaf_sets (run_id, first_seq, at, request_id, hashes, leaves)
SELECT run_id, min(seq), at::timestamptz, request_id, string_agg(hash, '' ORDER BY seq),
       ('[' || string_agg(said, ',' ORDER BY seq) || ']')::json
  FROM (SELECT run_id, seq, hash, leaf ->> 'at' AS at, leaf -> 'correlation' ->> 'request_id' AS request_id,
               seq - row_number() OVER (
                   PARTITION BY run_id, leaf ->> 'at', leaf -> 'correlation' ->> 'request_id' ORDER BY seq) AS island,
               concat('{',
                   '"step":' || nullif((leaf -> 'correlation' -> 'step')::text, 'null') || ',',
                   '"approval_id":' || nullif((leaf -> 'correlation' -> 'approval_id')::text, 'null') || ',',
                   '"effect_id":' || nullif((leaf -> 'correlation' -> 'effect_id')::text, 'null') || ',',
                   '"actor":' || nullif((leaf -> 'actor')::text, '{"id":"countersign","kind":"system"}') || ',',
                   '"data":', leaf -> 'data', ',"event":', leaf -> 'event', '}') AS said
          FROM audit_leaves) AS one
 GROUP BY run_id, at, request_id, island;

-- Each leaf, read from its row, must be the text of which its hash was taken.
DO $$
DECLARE
    lost RECORD;
BEGIN
    SELECT old.run_id, old.seq INTO lost
      FROM audit_leaves old
      LEFT JOIN (SELECT s.run_id, s.first_seq + place - 1 AS seq,
                        substring(s.hashes FROM 32 * place::int - 31 FOR 32) AS hash,
                        concat('{"actor":', coalesce(own -> 'actor', '{"id":"countersign","kind":"system"}'),
                               ',"at":"', to_char(s.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24\:MI\:SS.US"Z"'),
                               '","correlation":{"approval_id":', coalesce(own -> 'approval_id', 'null'),
                               ',"effect_id":', coalesce(own -> 'effect_id', 'null'),
                               ',"request_id":', coalesce(to_json(s.request_id), 'null'),
                               ',"run_id":', to_json(s.run_id), ',"step":', coalesce(own -> 'step', 'null'),
                               '},"data":', own -> 'data', ',"event":', own -> 'event', '}') AS said
                   FROM leaf_sets s CROSS JOIN json_array_elements(s.leaves) WITH ORDINALITY AS l (own, place)) AS new
        ON (new.run_id, new.seq) = (old.run_id, old.seq)
     WHERE (new.hash, new.said) IS DISTINCT FROM (old.hash, old.leaf::text)
     LIMIT 1;
    IF lost IS NOT NULL THEN
        RAISE EXCEPTION 'leaf % of % is not as the program writes leaves: nothing was moved', lost.seq, lost.run_id;
    END IF;
END $$;

DROP TABLE audit_leaves;

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON leaf_sets FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON leaf_sets FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
