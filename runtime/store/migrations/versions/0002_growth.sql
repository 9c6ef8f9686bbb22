-- what one event costs does not grow with its run: the planner asks which statuses the other steps have
CREATE INDEX ix_steps_open ON steps (run_id, status)
    WHERE status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable');
