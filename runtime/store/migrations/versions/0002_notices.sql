-- how people are told: each of them, and when those are reminded who are asked, as the directory says
ALTER TABLE actors ADD COLUMN notices JSON NOT NULL DEFAULT '{}';
ALTER TABLE directories ADD COLUMN remind JSON NOT NULL DEFAULT '{}';

-- what people were told directly, and what was gathered into one message because it was too much
CREATE TABLE gatherings (
    gathering_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    account TEXT NOT NULL,
    poster TEXT NOT NULL,
    begun_at TIMESTAMP WITH TIME ZONE NOT NULL,
    channel TEXT,
    ts TEXT,
    CONSTRAINT pk_gatherings PRIMARY KEY (gathering_id),
    CONSTRAINT ck_gatherings_posted CHECK ((channel IS NULL) = (ts IS NULL))
);
CREATE INDEX ix_gatherings_begun ON gatherings (tenant, account, begun_at);

CREATE TABLE told (
    tenant TEXT NOT NULL,
    message TEXT NOT NULL,
    account TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    gathering_id TEXT,
    said JSON NOT NULL,
    card_of TEXT,
    asks BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_told PRIMARY KEY (tenant, message),
    CONSTRAINT fk_told_gathering_id FOREIGN KEY (gathering_id) REFERENCES gatherings (gathering_id) ON DELETE CASCADE
);
CREATE INDEX ix_told_at ON told (tenant, account, at);
CREATE INDEX ix_told_gathering ON told (gathering_id);
