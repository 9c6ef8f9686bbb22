-- what one event costs does not grow with its run: the planner asks which statuses the other steps have
CREATE INDEX ix_steps_open ON steps (run_id, status)
    WHERE status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable', 'held');

-- every text from outside is cleaned of what the run hides: of a long run, only what hides something is read
CREATE INDEX ix_steps_params ON steps (run_id) WHERE params IS NOT NULL;
CREATE INDEX ix_effects_hiding ON effects (run_id) WHERE hides AND forgotten IS NULL;

-- a run's writes are counted on the run as they are done: policy is told of them and of those that go on
CREATE INDEX ix_effects_begun ON effects (run_id) WHERE purpose = 'step' AND started_at IS NOT NULL;

-- what waits for a tenant's people is found without a look at what waits for others
ALTER TABLE approvals ADD COLUMN tenant TEXT;
UPDATE approvals a SET tenant = r.tenant FROM runs r WHERE r.run_id = a.run_id;
ALTER TABLE approvals ALTER COLUMN tenant SET NOT NULL,
    ADD CONSTRAINT fk_approvals_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant);
CREATE INDEX ix_approvals_open ON approvals (tenant, expires_at) WHERE status = 'requested';

-- most runs hide nothing: whether one does is known when its row is locked
ALTER TABLE runs ADD COLUMN hides BOOLEAN NOT NULL DEFAULT false;
UPDATE runs SET hides = true WHERE finished_at IS NULL;

-- reads are leased in this order
DROP INDEX ix_steps_reads;
CREATE INDEX ix_steps_reads ON steps (attempt)
    WHERE is_read AND status IN ('ready', 'running', 'failed_retryable');

-- what comes due is found by these, and nothing else is: without statistics they looked like a short list of what waits
DROP INDEX ix_waits_deadline, ix_waits_escalate;
CREATE INDEX ix_waits_deadline ON waits (deadline) WHERE status = 'active' AND deadline < 'infinity';
CREATE INDEX ix_waits_escalate ON waits (escalate_at) WHERE status = 'active' AND escalate_at < 'infinity';
