"""What `countersign doctor` checks: one file for each part."""
