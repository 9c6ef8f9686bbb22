"""Step 0009: lists of runs that people save under a name."""

from runtime.store.schema.steps import run_sql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create their table."""
    run_sql(revision)
