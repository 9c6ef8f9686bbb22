"""The offline verifier: no network, no database; one file for each group of rules."""
