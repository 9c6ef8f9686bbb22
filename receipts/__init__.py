"""Canonical JSON, redaction, receipts, the hash chain of audit leaves, and signatures. Nothing here needs a network."""
