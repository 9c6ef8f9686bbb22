"""Step 0003: the leaves of a transaction stand in one row, and rows name their run without a foreign key."""

from runtime.store.schema.steps import run_sql

revision = "0003"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Move them."""
    run_sql(revision)
