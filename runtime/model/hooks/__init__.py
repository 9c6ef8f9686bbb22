"""Subscriptions: which events of runs are told to whom outside."""
