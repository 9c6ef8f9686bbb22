"""Takes away the most important guards, one at a time, and demands that a test fails: `make mutants`."""
