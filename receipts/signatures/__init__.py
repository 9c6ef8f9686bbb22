"""Signatures over evidence: keys and their register, envelopes, passkeys."""
