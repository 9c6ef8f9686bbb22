"""What workers do with rows: leases, breakers, and what a passage has to know.."""
