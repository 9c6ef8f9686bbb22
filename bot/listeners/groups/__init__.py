"""Who is in Slack's user groups."""
