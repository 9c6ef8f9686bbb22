"""Evidence about finished runs: a bundle's form, sealing, its archive, replay; the report; the verifier as a page."""
