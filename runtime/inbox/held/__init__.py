"""What a person says about a held step: put to policy first, then applied under the run's lock, and on record."""
