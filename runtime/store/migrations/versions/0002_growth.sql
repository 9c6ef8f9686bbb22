-- what one event costs does not grow with its run: the planner asks which statuses the other steps have
CREATE INDEX ix_steps_open ON steps (run_id, status)
    WHERE status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable');

-- every text from outside is cleaned of what the run hides: of a long run, only what hides something is read
CREATE INDEX ix_steps_params ON steps (run_id) WHERE params IS NOT NULL;
CREATE INDEX ix_effects_hiding ON effects (run_id) WHERE hides AND forgotten IS NULL;
