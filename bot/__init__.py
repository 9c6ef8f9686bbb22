"""The Slack side: the app, signatures, and what is sent: the client, its limits, its order, tokens of workspaces."""
