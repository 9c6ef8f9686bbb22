"""Rules about what was waited for, and for how long."""
