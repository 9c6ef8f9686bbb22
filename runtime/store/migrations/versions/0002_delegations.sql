-- who votes for whom, in which groups, and when; the directory is replaced as a whole, so no row here refers to it
CREATE TABLE delegations (
    delegation_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    delegator TEXT NOT NULL,
    delegate TEXT NOT NULL,
    groups JSON NOT NULL,
    starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    ended_by TEXT,
    ended_reason TEXT,
    CONSTRAINT pk_delegations PRIMARY KEY (delegation_id),
    CONSTRAINT fk_delegations_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_delegations_of_two CHECK (delegate NOT IN (delegator, recorded_by)),
    CONSTRAINT ck_delegations_lasts CHECK (starts_at < ends_at),
    CONSTRAINT ck_delegations_ended
        CHECK ((ended_at IS NULL) = (ended_by IS NULL) AND (ended_at IS NULL) = (ended_reason IS NULL))
);
CREATE INDEX ix_delegations_delegate ON delegations (tenant, delegate) WHERE ended_at IS NULL;

-- for whom a vote was given, and by which delegation, as it said then
ALTER TABLE votes ADD COLUMN delegator TEXT;
ALTER TABLE votes ADD COLUMN delegation JSON;
ALTER TABLE votes ADD CONSTRAINT ck_votes_delegator CHECK ((delegator IS NULL) = (delegation IS NULL) AND delegator <> person);
ALTER TABLE votes ADD CONSTRAINT uq_votes_approval_id_delegator UNIQUE (approval_id, delegator);
