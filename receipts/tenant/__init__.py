"""The chain of a tenant: what is done that belongs to no run."""
