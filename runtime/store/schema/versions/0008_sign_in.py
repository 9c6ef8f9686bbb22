"""Step 0008: people sign in to the console by accounts of identity providers."""

from runtime.store.schema.steps import run_sql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Say whose an account is, and by which account a session was opened."""
    run_sql(revision)
