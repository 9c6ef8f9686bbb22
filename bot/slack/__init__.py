"""What is sent to Slack."""
