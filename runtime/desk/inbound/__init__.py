"""Counters for what comes in from elsewhere than Slack: signals to runs, and answers to tasks."""
