"""The page behind our links to requests and runs: it shows the way to Slack, and nothing of what they lead to."""
