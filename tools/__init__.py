"""What the Makefile runs: set-up, checks, the lock files."""
