-- auditors look for runs by when they were triggered, the newest first
CREATE INDEX ix_runs_listed ON runs (tenant, created_at, run_id);
