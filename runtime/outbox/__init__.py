"""What is about to leave: actions, attempts, messages to people as data, events for webhooks, business entities."""
