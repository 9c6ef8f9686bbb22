"""What a hard look asked for: one SQL file for each part of the house, run in this order."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

PARTS = (
    "waits",
    "effects",
    "evidence",
    "inbox",
    "directory",
    "worker",
    "approvals",
    "patience",
    "gate",
    "growth",
    "bytes",
    "reads",
    "finding",
    "log",
    "tenant",
    "holds",
    "tasks",
    "nodes",
    "lives",
    "entities",
    "delegations",
    "workspaces",
    "edits",
    "passkeys",
    "figures",
    "notices",
    "usergroups",
    "answers",
    "home",
    "glass",
    "refusals",
    "guards",  # stays the last: it guards what the others made
)


def upgrade() -> None:
    """Change the tables, part by part."""
    for part in PARTS:
        op.execute(Path(__file__).with_name(f"0002_{part}.sql").read_text(encoding="utf-8"))
