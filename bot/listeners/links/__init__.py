"""Links of ours that people share."""
