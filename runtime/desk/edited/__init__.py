"""What cards say of edits."""
