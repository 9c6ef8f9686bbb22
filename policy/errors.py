"""The error of policy folders."""


class PolicyError(Exception):
    """A policy folder that cannot be served; the message says what is wrong and where."""
