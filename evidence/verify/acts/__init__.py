"""Rules about what was decided, done and read."""
