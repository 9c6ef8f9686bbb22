"""The tables of the Merkle log."""
