"""Step 0010: indexes of what needs attention."""

from runtime.store.schema.steps import run_sql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    run_sql(revision)
