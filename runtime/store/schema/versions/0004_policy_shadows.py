"""Step 0004: windows in which a candidate policy is asked beside the one in force."""

from runtime.store.schema.steps import run_sql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create their tables."""
    run_sql(revision)
