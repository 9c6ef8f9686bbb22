"""Step 0007: sessions of people in the console."""

from runtime.store.schema.steps import run_sql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create their table."""
    run_sql(revision)
