"""What the Makefile runs: set-up, checks, lock files; and the pictures of everything that people see."""
