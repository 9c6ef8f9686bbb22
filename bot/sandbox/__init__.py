"""A stand-in Slack workspace: Web API, interactivity, Socket Mode and a page where one acts as anybody."""
