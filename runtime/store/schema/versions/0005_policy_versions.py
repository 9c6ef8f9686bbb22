"""Step 0005: versions of the policy, and which of them came into force when."""

from runtime.store.schema.steps import run_sql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create their tables, and the function that says which one is in force."""
    run_sql(revision)
