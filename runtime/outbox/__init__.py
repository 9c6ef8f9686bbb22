"""What is about to leave: actions, attempts, proposals, messages to people as data."""
