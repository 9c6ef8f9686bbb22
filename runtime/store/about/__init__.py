"""Runs by what they are about: at most one of a runbook goes on about the same."""
