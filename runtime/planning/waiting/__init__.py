"""What a run waits for: a deadline, a notification, the end of another run."""
