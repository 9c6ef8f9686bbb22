-- nobody read them
ALTER TABLE waits DROP COLUMN expected_version, DROP COLUMN captured;
