"""Where the Slack app is installed, as the bot hands it in and asks for it."""
