"""The commands about what proves things: evidence, keys, the audit log."""
