"""A durable block, as a row, and what becomes of it when an answer comes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from receipts.fields import timestamp
from runtime.model.states import WaitStatus, WaitType


class Correlate(StrEnum):
    """How an answer names its wait (design, section 16, D3)."""

    BY_TOKEN = "by_token"  # noqa: S105 - the token that went out with the request comes back
    BY_KEY = "by_key"  # the other side cannot carry a token: whatever waits under the key is answered


class OnInvalid(StrEnum):
    """What an answer outside the verb's output schema does."""

    REFUSE = "refuse"  # the sender hears why, and the wait goes on
    FAIL = "fail"  # the step fails


@dataclass(frozen=True)
class Moment:
    """What happens to a wait at its time, unless it has ended: an entry of an escalation, or a reminder (`entry` None).

    As for an entry: the groups `to` are asked, there is `extend` longer from then, a run of `start` is started.
    """

    at: datetime
    entry: int | None  # its place in the escalation, from 0
    to: tuple[str, ...] = ()
    extend: timedelta | None = None
    start: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as it is stored; a time in seconds."""
        seconds = None if self.extend is None else self.extend.total_seconds()
        said = {"at": timestamp(self.at), "entry": self.entry, "to": list(self.to)}
        return {**said, "extend": seconds, "start": self.start}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Moment":
        """Read what is stored."""
        extend = None if document["extend"] is None else timedelta(seconds=document["extend"])
        at, to = datetime.fromisoformat(document["at"]), tuple(document["to"])
        return cls(at, document["entry"], to, extend, document["start"])


@dataclass(frozen=True)
class Wait:
    """A durable block."""

    wait_id: str
    run_id: str
    step: str
    type: WaitType
    correlation_key: str  # of the matter; many may wait under it
    correlate: Correlate
    token: str  # goes out with the request, and nowhere else
    deadline: datetime
    moments: Sequence[Moment]  # that are still to come, the next first
    status: WaitStatus
    approval_id: str | None
    turn: int = 0  # rises with every moment that has come: a signal is for one turn

    @property
    def next_at(self) -> datetime | None:
        """Return when the next moment comes, or None where there is none."""
        return self.moments[0].at if self.moments else None

    def due(self, now: datetime) -> Sequence[Moment]:
        """Return what has come by now."""
        return [moment for moment in self.moments if moment.at <= now]


def signal_key(run_id: str, name: str) -> str:
    """Return the correlation key of what waits for a signal to a run, and of the signal."""
    return f"signal:{run_id}:{name}"


def wait_of_token(token: str) -> str:
    """Return the id of the wait whose token this is."""
    return token.partition(".")[0]


@dataclass(frozen=True)
class Progress:
    """The newest word of progress for a wait; `data` is None where there was a message alone.

    `count` is how often there was word, `noted_at` when some was last put on the run's chain.
    """

    message: str
    data: Mapping[str, Any] | None
    at: datetime
    count: int
    noted_at: datetime

    def document(self) -> dict[str, Any]:
        """Return it as it is stored and shown."""
        times = {"at": timestamp(self.at), "noted_at": timestamp(self.noted_at)}
        return {"message": self.message, "data": self.data, "count": self.count, **times}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Progress":
        """Read what is stored."""
        times = {name: datetime.fromisoformat(document[name]) for name in ("at", "noted_at")}
        return cls(**{**document, **times})


@dataclass(frozen=True)
class NamedWait:
    """An open wait that a notification names, as far as it is known before its run is locked."""

    wait_id: str
    run_id: str
    step: str
    token: str


@dataclass(frozen=True)
class DueWait:
    """A wait whose moment has come."""

    wait_id: str
    token: str
    turn: int
