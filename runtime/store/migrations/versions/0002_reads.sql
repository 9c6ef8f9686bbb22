-- what a read asked, got, used and cost: one record for each attempt that ended
CREATE TABLE reads (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    document JSON NOT NULL,
    CONSTRAINT pk_reads PRIMARY KEY (run_id, seq),
    CONSTRAINT fk_reads_run_id_step FOREIGN KEY (run_id, step) REFERENCES steps (run_id, path),
    CONSTRAINT uq_reads_run_id_step_attempt UNIQUE (run_id, step, attempt),
    CONSTRAINT ck_reads_outcome CHECK (outcome IN ('success', 'failure'))
);
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON reads
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- runs that are there are told in format 1 to their end
ALTER TABLE runs ADD COLUMN evidence_format INTEGER NOT NULL DEFAULT 1;
