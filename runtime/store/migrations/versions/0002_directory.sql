-- which directory is loaded: an older file does not give back what a newer one took away
CREATE TABLE directories (
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    loaded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_directories PRIMARY KEY (tenant),
    CONSTRAINT ck_directories_version CHECK (version >= 0)
);
