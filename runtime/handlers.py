"""What a verb's handler is: the contract between the runtime and connectors, ours and users'.

A package offers handlers through the entry point group ``countersign.handlers``. Each entry point names a
function ``handlers(settings) -> {"namespace::operation": Handler}``; `settings` holds the pack's own settings.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = Any
JsonObject = dict[str, Any]

ENTRY_POINT_GROUP = "countersign.handlers"


@dataclass(frozen=True)
class Call:
    """One invocation of a handler.

    `params` are the step's resolved params over the verb's static ones, already valid under the input schema.
    `target` is the resolved target of a write ("" for a read). `key` is the idempotency key to hand to the other
    side ("" for a read). `correlation_key` names the wait that a durable verb opened; the other side sends it
    back in its completion ("" for a sync verb).
    """

    tenant: str
    run_id: str
    step: str
    operation: str
    params: JsonObject
    target: str = ""
    key: str = ""
    correlation_key: str = ""


class HandlerError(Exception):
    """A handler could not give a result. Subclasses say whether anything was done."""


class TransientError(HandlerError):
    """Nothing was done; trying again later may work (connection refused, 429, 503). `retry_after` in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = None if retry_after is None else min(max(retry_after, 0.0), 86400.0)


class HeldError(HandlerError):
    """The other side refuses for a reason that somebody can mend, and did nothing (401, a channel without the bot)."""


class RefusedError(HandlerError):
    """The other side said no and did nothing; trying again will not help (400, 403, 404, 422)."""


class OutcomeUnknownError(HandlerError):
    """The request left and no answer came: the side effect may or may not have happened."""


@dataclass(frozen=True)
class Handler:
    """An operation of a connector.

    `run` performs it and returns the result. A write may offer `reconcile` (read the target back: the result if
    the side effect happened, None if it did not) and `before` (the present values of the fields that it would
    change, for the card). Any exception but a HandlerError out of a write's `run` counts as outcome unknown.
    `writes` is False for what changes nothing outside: the code says so, lest YAML take a write past the gate.
    """

    run: Callable[[Call], Awaitable[JsonObject]]
    reconcile: Callable[[Call], Awaitable[JsonObject | None]] | None = None
    before: Callable[[Call], Awaitable[JsonObject]] | None = None
    writes: bool = True


HandlerFactory = Callable[[Mapping[str, str]], Mapping[str, Handler]]
