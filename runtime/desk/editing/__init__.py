"""The counter at which people approve a request with edits."""
