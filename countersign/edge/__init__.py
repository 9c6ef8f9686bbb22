"""The HTTP edge: triggers, notifications, runs, Slack's callbacks, and the probes of an operator."""
