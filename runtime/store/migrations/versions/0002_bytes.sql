-- A parked run costs rows and nothing else: they say nothing twice.

-- A leaf's place in its chain follows from its row and from the one before. Leaves that the first release wrote say it
-- once more; who reads them puts the row's in its place.
ALTER TABLE audit_leaves DROP CONSTRAINT ck_audit_leaves_hashes;
ALTER TABLE audit_leaves DROP COLUMN prev_hash;
ALTER TABLE audit_leaves ALTER COLUMN hash TYPE BYTEA USING decode(hash, 'hex');
ALTER TABLE audit_leaves ADD CONSTRAINT ck_audit_leaves_hash CHECK (length(hash) = 32);

-- the leaf that names a record has its digest, and is found by run and number
ALTER TABLE policy_decisions DROP CONSTRAINT pk_policy_decisions, DROP CONSTRAINT uq_policy_decisions_run_id_seq,
    DROP COLUMN digest, ADD CONSTRAINT pk_policy_decisions PRIMARY KEY (run_id, seq);
ALTER TABLE receipts DROP CONSTRAINT pk_receipts, DROP CONSTRAINT uq_receipts_run_id_seq,
    DROP COLUMN digest, ADD CONSTRAINT pk_receipts PRIMARY KEY (run_id, seq);

-- a definition's digest stands with the definition, which nobody changes, and in the run's first leaf
ALTER TABLE runs DROP COLUMN definition_digest;

-- the same plan twice is the same plan of one run
UPDATE effects SET dedupe_key = left(dedupe_key, 32);
ALTER TABLE effects DROP CONSTRAINT uq_effects_dedupe_key;
DROP INDEX ix_effects_run;
ALTER TABLE effects ADD CONSTRAINT uq_effects_run_id_dedupe_key UNIQUE (run_id, dedupe_key);
