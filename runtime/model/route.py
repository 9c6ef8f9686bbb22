"""The route of one request: where its cards go, decided once when people are asked, and kept with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_CALLED = 5
"""People of a group whom a card calls by name; a larger group reads its channel."""


def is_person(place: str) -> bool:
    """Return whether a place is a person, by their Slack id, and not a conversation."""
    return place.startswith(("U", "W"))


@dataclass(frozen=True)
class Route:
    """`places` are conversations (C…, G…, D…) and people (U…, W…), each once; under the first is the thread.

    `mention` is whom the card calls, None for those who are asked. `fallback` are groups that it went to as well since
    `why`: those who are asked cannot decide it; with no groups it went to channels alone.
    """

    places: tuple[str, ...]
    mention: tuple[str, ...] | None = None
    why: str = ""
    fallback: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Route":
        """Read a stored route."""
        mention = document["mention"]
        return cls(
            places=tuple(document["places"]),
            mention=None if mention is None else tuple(mention),
            why=document["why"],
            fallback=tuple(document["fallback"]),
        )

    def document(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {
            "places": list(self.places),
            "mention": None if self.mention is None else list(self.mention),
            "why": self.why,
            "fallback": list(self.fallback),
        }

    @property
    def copies(self) -> tuple[str, ...]:
        """Return where there are cards beside the first."""
        return self.places[1:]


NOWHERE = Route(())
"""Before it is decided; and of a request that is decided in the Home alone."""
