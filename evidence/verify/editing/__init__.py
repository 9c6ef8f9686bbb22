"""Rules about requests that were edited and resubmitted."""
