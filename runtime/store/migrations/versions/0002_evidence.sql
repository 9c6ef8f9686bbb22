-- what became of the tries to seal and store a bundle, and how many cards stood when its sealing began
ALTER TABLE evidence_bundles
    ADD COLUMN tries INTEGER DEFAULT 0 NOT NULL,
    ADD COLUMN error TEXT DEFAULT '' NOT NULL,
    ADD COLUMN sealed_cards JSON DEFAULT '{}' NOT NULL;
