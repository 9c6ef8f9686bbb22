"""What a tenant has beyond its runs: its salt, and the chain of its acts."""
