"""What a Web API method is, and how it reads its arguments."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.core import Sandbox
from sandbox.errors import SlackError

Json = dict[str, Any]


@dataclass(frozen=True)
class Args:
    """A call's arguments, from a form, a query or a JSON body alike; `base_url` is how the caller reached us."""

    values: Mapping[str, Any]
    base_url: str

    def has(self, name: str) -> bool:
        """Say whether the argument was given."""
        return self.values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; without a default it is required."""
        value = self.values.get(name)
        if value is None or value == "":
            if default is None:
                raise SlackError("invalid_arguments", f"missing required field: {name} [json-pointer:/{name}]")
            return default
        if not isinstance(value, str):
            raise SlackError("invalid_arguments", f"must be a string [json-pointer:/{name}]")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean."""
        value = self.values.get(name)
        return default if value is None else value in (True, "true", "True", "1", 1)

    def number(self, name: str, default: int, highest: int) -> int:
        """Return a positive whole number, capped."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if not str(value).isascii() or not str(value).isdigit() or int(value) < 1:
            raise SlackError("invalid_limit")
        return min(int(value), highest)

    def json(self, name: str, error: str) -> Any:
        """Return a JSON value, parsing it where a form carried it as text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise SlackError(error) from None


@dataclass(frozen=True)
class Method:
    """A method: what it does, how often it may be called a minute, and the scope it needs (`app` token if None)."""

    run: Callable[[Sandbox, Args], Json]
    per_minute: int
    scope: str | None = ""
