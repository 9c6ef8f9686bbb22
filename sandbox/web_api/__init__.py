"""The Web API's methods and the payloads that Slack sends."""
