"""A Merkle log after RFC 6962 in the formats of C2SP: hashes, proofs, checkpoints, cosignatures, tiles. No I/O."""
