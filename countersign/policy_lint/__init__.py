"""Lint of a policy folder: its rules and configuration, beside runbooks, directory and recorded decisions."""
