"""Where the Slack app is installed, and by whose leave."""
