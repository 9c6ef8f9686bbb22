"""Slack workspaces in which the app is installed."""
