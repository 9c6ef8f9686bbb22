-- a click is bound to what it saw, not to a count of changes
UPDATE notifications SET payload = (payload::jsonb - 'revision' || '{"stamp": ""}')::json
 WHERE kind = 'vote' AND status = 'received';
