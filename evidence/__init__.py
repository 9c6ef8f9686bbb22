"""Evidence about finished runs: the sealed bundle, the archive that keeps it, and the verifier that needs neither."""
