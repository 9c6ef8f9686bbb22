-- what happens to a wait before it ends stands in it, one moment after the other; `escalate_at` is the next of them
ALTER TABLE waits ADD COLUMN moments JSON, ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
UPDATE waits SET moments = CASE WHEN escalate_at IS NULL THEN '[]'::json ELSE json_build_array(json_build_object(
    'at', to_char(escalate_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'entry', 0, 'to', escalate_to, 'extend', NULL, 'start', NULL)) END;
ALTER TABLE waits ALTER COLUMN moments SET NOT NULL, DROP COLUMN escalate_to;

-- who may decide, too, since time has run short: not all who are next in line at once
ALTER TABLE approvals ADD COLUMN joined JSON NOT NULL DEFAULT '[]';
UPDATE approvals SET joined = requirement -> 'escalate_to' WHERE escalated;
ALTER TABLE approvals DROP COLUMN escalated;

-- until when a review that was given more time may be answered; `expires_at` stays as it was asked
ALTER TABLE approvals ADD COLUMN prolonged_until TIMESTAMP WITH TIME ZONE;
