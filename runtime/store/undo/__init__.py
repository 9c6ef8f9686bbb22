"""What a run did, as far as it may be taken back, and which runs are to stop."""
