"""The commands about where the Slack app is installed."""
