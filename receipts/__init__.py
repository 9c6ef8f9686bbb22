"""Canonical JSON, redaction, receipts, the hash chain, signatures, the Merkle log of RFC 6962 and C2SP; no network."""
