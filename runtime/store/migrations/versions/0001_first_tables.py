"""The first tables: the SQL beside this file."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
