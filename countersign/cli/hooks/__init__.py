"""The group of commands about subscriptions."""
