-- what happened to a request beside its votes, for figures alone: no record rests on it
CREATE TABLE marks (
    approval_id TEXT NOT NULL,
    mark TEXT NOT NULL,
    who TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_marks PRIMARY KEY (approval_id, mark, who),
    CONSTRAINT fk_marks_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id),
    CONSTRAINT ck_marks_mark CHECK (mark IN ('looked', 'reminded', 'escalated'))
);
CREATE INDEX ix_approvals_tenant_requested_at ON approvals (tenant, requested_at);
