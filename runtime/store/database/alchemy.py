"""SQLAlchemy for what is not done while serving: migrations and roles."""

import psycopg
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool


def open_engine(dsn: str) -> Engine:
    """Return an engine whose connections are made as the DSN says, each for one use.

    libpq reads the DSN itself, so whatever it takes is taken here. Nothing is prepared: a pooler may stand in between.
    """
    return create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn, prepare_threshold=None), poolclass=NullPool
    )
