"""Step 0001: the tables of the first release."""

from runtime.store.schema.steps import run_sql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    run_sql(revision)
