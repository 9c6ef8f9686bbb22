"""How the Web API says no."""


class SlackError(Exception):
    """A method refused: HTTP 200 with ``ok: false``, a code, and messages that name the places."""

    def __init__(self, code: str, *messages: str, **extra: str) -> None:
        super().__init__(code)
        self.code = code
        self.messages = messages
        self.extra = extra


class RateLimitedError(Exception):
    """A method was called too often: HTTP 429 with Retry-After in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"ratelimited for {retry_after} s")
        self.retry_after = retry_after


class WorkspaceError(Exception):
    """A workspace file cannot be used; the text names the file and every place in it."""
