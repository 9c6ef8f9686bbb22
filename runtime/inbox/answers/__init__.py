"""What people say to a request beside a verdict on it."""
