-- who changed what of a request, when they approved it with edits; the approval that it voided is canceled
CREATE TABLE edits (
    approval_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    person TEXT NOT NULL,
    person_name TEXT NOT NULL,
    groups JSON NOT NULL,
    reason TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    replaced TEXT NOT NULL,
    digest TEXT NOT NULL,
    changes JSON NOT NULL,
    notification_id TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_edits PRIMARY KEY (approval_id),
    CONSTRAINT fk_edits_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id),
    CONSTRAINT fk_edits_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_edits_effect_id FOREIGN KEY (effect_id) REFERENCES effects (effect_id),
    CONSTRAINT fk_edits_notification_id FOREIGN KEY (notification_id) REFERENCES notifications (notification_id),
    CONSTRAINT ck_edits_another CHECK (digest <> replaced)
);
CREATE INDEX ix_edits_effect_id ON edits (effect_id);
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON edits
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
