"""People beside the directory: who stands in for whom."""
