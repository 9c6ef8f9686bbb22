-- what an ended run's effects hid is forgotten; of those that are there nobody knows whether they hide anything
ALTER TABLE effects
    ADD COLUMN hides BOOLEAN DEFAULT true NOT NULL,
    ADD COLUMN forgotten JSON;
CREATE INDEX ix_notifications_correlation ON notifications (correlation_key);
ALTER TABLE notifications ADD COLUMN forgotten BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE runs ADD COLUMN trigger_digest TEXT, ADD COLUMN forgotten BOOLEAN DEFAULT false NOT NULL;

-- what became of the tries to seal and store a bundle, and how many cards stood when its sealing began
ALTER TABLE evidence_bundles
    ADD COLUMN tries INTEGER DEFAULT 0 NOT NULL,
    ADD COLUMN error TEXT DEFAULT '' NOT NULL,
    ADD COLUMN sealed_cards JSON DEFAULT '{}' NOT NULL;
