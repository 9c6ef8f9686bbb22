"""Step 0006: budgets, and what effects take of them."""

from runtime.store.schema.steps import run_sql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create their tables."""
    run_sql(revision)
