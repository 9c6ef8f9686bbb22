"""The base of errors that a person at the command line can do something about: one sentence, not a traceback."""


class CountersignError(Exception):
    """Says what is wrong, and where it is known, what to do."""


class OperateError(CountersignError):
    """The wish cannot be fulfilled; the message says why."""


class NothingRunsError(CountersignError):
    """A command that works beside a system found none; the message says how to start one or name another."""
