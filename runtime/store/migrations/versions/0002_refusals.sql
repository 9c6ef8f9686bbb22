-- how often somebody has said of a request what does not count; that they did is on record in the run's chain
CREATE TABLE refusals (
    approval_id TEXT NOT NULL,
    who TEXT NOT NULL,
    code TEXT NOT NULL,
    times BIGINT NOT NULL,
    CONSTRAINT pk_refusals PRIMARY KEY (approval_id, who, code),
    CONSTRAINT fk_refusals_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id)
);
