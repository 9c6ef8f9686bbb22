"""The report on a bundle, and the verifier as a page."""
