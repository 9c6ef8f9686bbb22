"""The console: pages on which people see what needs attention, runs and their evidence, in a browser."""
