"""What a run takes place in: the machine, its PostgreSQL, the wire to it, and a policy server that answers at once."""
