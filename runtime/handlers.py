"""What a pack offers: the handlers of its verbs, and a demo of itself.

A package offers handlers through the entry point group ``countersign.handlers``. Each entry point names a
function ``handlers(settings) -> {"namespace::operation": Handler}``; `settings` holds the pack's own settings.
Under ``countersign.settings`` an entry point of the same name gives the pydantic model of those settings, in which the
type SecretStr says what is secret. A pack that declares none takes none.
Under ``countersign.demos`` an entry point of the same name gives a `Demo`, for embedded mode alone.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Json = Any
JsonObject = dict[str, Any]

ENTRY_POINT_GROUP = "countersign.handlers"
SETTINGS_GROUP = "countersign.settings"
DEMO_GROUP = "countersign.demos"


@dataclass(frozen=True)
class Call:
    """One invocation of a handler.

    `params` are the step's resolved params over the verb's static ones, already valid under the input schema.
    `target` is the resolved target of a write ("" for a read). `key` is the idempotency key to hand to the other
    side ("" for a read). `correlation_key` names the matter of a durable verb, `token` the one wait that this request
    opened; the other side sends both back in its completion ("" for a sync verb). `before` is what the handler's own
    `before` had said when the attempt was about to begin, and was put on record then; None for a handler without one,
    and where it is not known.
    """

    tenant: str
    run_id: str
    step: str
    operation: str
    params: JsonObject
    target: str = ""
    key: str = ""
    correlation_key: str = ""
    token: str = ""
    before: JsonObject | None = None


@dataclass(frozen=True)
class Metadata:
    """What the other side said of a call: HTTP status, its id of the (last) request, how many requests were sent."""

    status: int | None = None
    request_id: str | None = None
    requests: int | None = None


@dataclass(frozen=True)
class Usage:
    """What a call used of one provider, such as a language model's.

    `units` are amounts by unit, such as ``{"input_tokens": 812}``, and `cost` is in `currency` (ISO 4217, as ``USD``):
    whole numbers and Decimals of at most 15 digits before and 12 after the point, and no floats, since all are added up
    exactly. What is not known is left out, and is never zero.
    """

    provider: str
    model: str | None = None
    units: Mapping[str, int | Decimal] = field(default_factory=dict)
    cost: int | Decimal | None = None
    currency: str | None = None


@dataclass(frozen=True)
class Answer:
    """A result, and what a handler tells beside it. What cannot be read of that is noted, and costs no result."""

    result: JsonObject
    metadata: Metadata | None = None
    usage: Sequence[Usage] = ()

    @classmethod
    def of(cls, returned: "JsonObject | Answer") -> "Answer":
        """Return what a handler's `run` returned, bare or not."""
        return returned if isinstance(returned, Answer) else cls(returned)


class HandlerError(Exception):
    """A handler could not give a result. Subclasses say whether anything was done.

    What it cost nevertheless, and what the other side said of it, is told in `metadata` and `usage`, as in an `Answer`.

    For a write, only what never got there (`NotTakenError`, `BlockedError`) and a plain no (`RefusedError`) say that
    nothing was done. An answer of 408 or 5xx, one that is broken or cannot be read, a redirect, a reset and silence
    may all come after the act: they are an `OutcomeUnknownError`. For a read it makes no difference.
    """

    metadata: Metadata | None = None
    usage: Sequence[Usage] = ()


class TransientError(HandlerError):
    """Nothing was done; trying again later may work. Uses up one of the verb's attempts. `retry_after` in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = None if retry_after is None else min(max(retry_after, 0.0), 86400.0)


class NotTakenError(TransientError):
    """The request was not even taken: a refused connection, a rate limit (429).

    It is waited out until the deadline, and uses up no attempt.
    """


class BlockedError(HandlerError):
    """The other side refuses for a reason that somebody can fix, and did nothing (401, a channel without the bot).

    It is tried until the deadline, uses up no attempt, and operators are told.
    """


class RefusedError(HandlerError):
    """The other side said no and did nothing; trying again will not help (400, 403, 404, 409, 422)."""


class OutcomeUnknownError(HandlerError):
    """The request left, and what came back does not say: the side effect may or may not have happened."""


@dataclass(frozen=True)
class Done:
    """Read back: it happened, and this is the result that `run` would have given, as far as it can be known."""

    result: JsonObject


@dataclass(frozen=True)
class Untouched:
    """Read back: all is as it was before, so nothing has happened so far."""


@dataclass(frozen=True)
class Changed:
    """Read back: neither as before nor as wanted; somebody else was there. `found` is what people are shown."""

    found: JsonObject


Reconciled = Done | Untouched | Changed


@dataclass(frozen=True)
class Handler:
    """An operation of a connector.

    `run` performs it and returns the result, bare or in an `Answer`. Any exception but a HandlerError out of a write's
    `run` counts as outcome unknown. `writes` is False for what changes nothing outside: the code says so, lest YAML
    take a write past the gate.

    A write may offer two reads. `before` gives the present values of what it would change: for the card, and put on
    record before each attempt, so that the way back is known whatever becomes of it. `reconcile` reads the target back
    after an attempt without an outcome, and compares with `call.before` and with what is wanted. What it says is
    `Untouched` is attempted again only once the first request can no longer land (the verb's `settles_within`).
    """

    run: Callable[[Call], Awaitable[JsonObject | Answer]]
    reconcile: Callable[[Call], Awaitable[Reconciled]] | None = None
    before: Callable[[Call], Awaitable[JsonObject]] | None = None
    writes: bool = True


@dataclass(frozen=True)
class Caller:
    """An agent of the demo: what it may trigger, whether it speaks for people, and the verbs it answers for.

    `signals` are types of triggers to whose runs it may send signals.
    """

    id: str
    name: str
    triggers: Sequence[str]
    on_behalf: bool
    completes: Sequence[str]
    signals: Sequence[str] = ()


@dataclass(frozen=True)
class Reply:
    """How the outside world answers what a case asks of it: `who` `does` it, as a sentence in the present.

    `find` is given the stand-ins' base URL and the case's payload, and returns the notification that the case's
    caller sends, or None as long as nothing was asked. `step` is the one that waits for it.
    """

    who: str
    does: str
    step: str
    find: Callable[[str, JsonObject], Awaitable[JsonObject | None]]


@dataclass(frozen=True)
class Example:
    """A case to try a pack with: who brings what in, on whose behalf, and what people are asked then.

    `payload` is given the stand-ins' base URL and returns the trigger's payload, of another case each time.
    """

    name: str
    title: str
    then: str
    trigger_type: str
    caller: str
    on_behalf_of: str | None
    payload: Callable[[str], Awaitable[JsonObject]]
    reply: Reply | None


@dataclass(frozen=True)
class Signature:
    """What a person of the demo's workspace says on a card: `step` is the one that asks, for a reason or for none."""

    step: str
    person: str
    reason: str = ""


@dataclass(frozen=True)
class Story:
    """What ``countersign demo`` plays with an example: rejected once, then signed by two while the worker dies.

    `reviews` come before the effect of step `step`, whose `operation` the stand-ins count; `rule` is why policy asks
    for signatures, `ineligible` are people who may not decide, each with the reason, and `done` and `not_done` tell
    what became of it.
    """

    example: str
    reviews: Sequence[Signature]
    step: str
    operation: str
    rule: str
    ineligible: Sequence[tuple[str, str]]
    rejection: Signature
    signatures: tuple[Signature, Signature]
    done: str
    not_done: str


@dataclass(frozen=True)
class Demo:
    """What embedded mode needs to show a pack without the systems behind it.

    `python -m STANDINS --port N` serves the stand-ins on loopback; they count side effects at `/__standin/actions`
    and show the environment's COUNTERSIGN_START in the header `Countersign-Start` of every answer. `settings` is
    given their base URL and the edge's, and returns the pack's settings.
    """

    standins: str
    settings: Callable[[str, str], Mapping[str, str]]
    callers: Sequence[Caller]
    examples: Sequence[Example]
    story: Story | None
