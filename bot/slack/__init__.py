"""What is sent to Slack: the client, its limits, sending in order, and the tokens of workspaces."""
