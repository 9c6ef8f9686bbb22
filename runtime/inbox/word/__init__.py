"""Word from outside: one for many waits, of progress, and signals to runs."""
