"""Slack's own rules: shapes of blocks, limits, mrkdwn."""
