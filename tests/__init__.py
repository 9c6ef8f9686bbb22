"""The tests: unit, integration, acceptance and faults, on real servers."""
