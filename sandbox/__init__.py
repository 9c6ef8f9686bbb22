"""A Slack to click in: speaks the real wire protocol and enforces the real limits."""
