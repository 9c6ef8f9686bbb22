"""Rules about requests that were approved with edits."""
