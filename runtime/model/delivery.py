"""What becomes of a message to one person, just before it is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from runtime.model.ranks import Rank, rank_of


@dataclass(frozen=True)
class Notice:
    """A message that is about to go to one person."""

    key: str  # idempotency key of its effect
    account: str  # id of the Slack account that is told
    said: Mapping[str, Any]
    card_of: str | None  # the approval that it is about
    asks: bool  # the person to decide that
    is_alarm: bool = False  # whatever its words: it is about what is in doubt

    @property
    def rank(self) -> Rank:
        """Return how urgent it is."""
        return Rank.ALARM if self.is_alarm else rank_of(str(self.said["kind"]), asks=self.asks)


@dataclass(frozen=True)
class Gathered:
    """A message that was gathered, and whether what it is about still waits for somebody; True where nothing does.

    `title` is what its author calls that, "" where it has none. `card` is where its card stands, as (channel, ts), and
    `link` is our own to it, "" where there is none.
    """

    said: Mapping[str, Any]
    card_of: str | None
    asks: bool
    is_open: bool
    title: str = ""
    card: tuple[str, str] | None = None
    link: str = ""

    @property
    def rank(self) -> Rank:
        """Return how urgent it is."""
        return rank_of(str(self.said["kind"]), asks=self.asks)


@dataclass(frozen=True)
class Gathering:
    """One message to one person for much: the oldest first, and where it stands as (channel, ts), once it does.

    `poster` is the key of the message that posts it; the others wait until it has.
    """

    gathering_id: str
    account: str
    poster: str
    place: tuple[str, str] | None
    items: Sequence[Gathered]


@dataclass(frozen=True)
class Alone:
    """It is said by itself."""


@dataclass(frozen=True)
class Together:
    """It is too much, and stands in a message with others."""

    gathering_id: str


@dataclass(frozen=True)
class Later:
    """It is said from then on: the person is in their quiet hours."""

    at: datetime


@dataclass(frozen=True)
class Needless:
    """It asks the person for what they may not do, or need not do any more."""


Turn = Alone | Together | Later | Needless


class AnswerTurn(StrEnum):
    """Whose turn it is to give a private answer."""

    OURS = "ours"
    BEGUN = "begun"  # another process gives it, or has died before it could say that it did
    GIVEN = "given"
