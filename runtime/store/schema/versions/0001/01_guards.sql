-- Step 0001: the tables of the first release. The files run in the order of their numbers, in one transaction.
-- steps.lock says from which release on the step never changes.

-- Guards. What was asked, decided and done is written once, and no record goes away. Triggers enforce it for everybody;
-- the rights that roles.py grants leave the program no way round the triggers. Each trigger has the name of its rule:
--   insert_only  no row changes or goes away
--   write_once   these columns never change; the program has no right to update them
--   set_once     these columns are set after the beginning, and then stay
--   forget_once  these columns change once, to redact them
--   no_delete    no row is deleted
--   no_truncate  the table is never emptied
-- A trigger on columns fires only where a statement names one of them, so it costs other statements nothing.

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is insert only', TG_TABLE_NAME;
END
$$;

CREATE FUNCTION refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'this of % is written once', TG_TABLE_NAME;
END
$$;

CREATE FUNCTION refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no row of % is deleted', TG_TABLE_NAME;
END
$$;

CREATE FUNCTION refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is never emptied', TG_TABLE_NAME;
END
$$;

-- What people were asked changes only by an edit on record, which voids their approval.
CREATE FUNCTION refuse_unedited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM edits WHERE approval_id = OLD.approval_id AND effect_id = OLD.effect_id
                      AND replaced = OLD.digest AND digest = NEW.digest)
    THEN
        RAISE EXCEPTION 'this of % changes by an edit on record alone', TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;

-- An approval is free again only after an attempt that is known to have done nothing.
CREATE FUNCTION refuse_second_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.consumed_at IS NOT NULL OR EXISTS (
        SELECT FROM receipts WHERE run_id = OLD.run_id AND effect_id = OLD.effect_id
           AND outcome IN ('success', 'in_doubt') AND document ->> 'approval_id' = OLD.approval_id)
    THEN
        RAISE EXCEPTION 'this of % is written once', TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
