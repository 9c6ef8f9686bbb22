"""What the stage of the bot's tests has beside a desk: a store that is down, and counters at which little happens."""

from collections.abc import Mapping, Sequence

from receipts.tenant_acts import DirectoryRefreshed
from runtime.model.commands import UnknownActorAct
from runtime.model.metrics import Figures
from runtime.model.person import NO_SOURCES, Member, Person, Sources
from runtime.services.links import Linked
from runtime.services.refused_clicks import Stranger


class DatabaseDownError(Exception):
    """What a store raises when it cannot be reached; its text quotes what it was given, as drivers do."""


class LooksAlone:
    """A counter of figures that keeps who looked at what."""

    def __init__(self) -> None:
        self.looks: list[tuple[str, str]] = []
        self.found: dict[str, Figures] = {}

    async def looked(self, approval_id: str, person: Person) -> None:
        self.looks.append((approval_id, person.id))

    async def leads(self, person: Person) -> bool:
        return person.id in self.found

    async def figures(self, person: Person) -> Figures | None:
        return self.found.get(person.id)


class NoUserGroups:
    """A counter of a directory whose groups are its own."""

    async def sources(self) -> Sources:
        return NO_SOURCES

    async def users(self) -> frozenset[str]:
        return frozenset()

    async def refresh(self, found: Mapping[str, Sequence[Member]]) -> DirectoryRefreshed | None:
        raise AssertionError(f"nothing here comes from Slack: {found}")


class NoLinks:
    """A counter of links where browsers do not reach us: there are none."""

    def read(self, address: str) -> None:
        assert address

    def to_request(self, approval_id: str) -> str:
        assert approval_id
        return ""

    async def card_in(self, linked: Linked, channel: str) -> None:
        raise AssertionError(f"nothing here is a link: {linked} {channel}")


class NoStrangers:
    """A counter to which no stranger comes."""

    async def on_card(self, stranger: Stranger, approval_id: str, act: UnknownActorAct) -> None:
        raise AssertionError(f"nobody here is a stranger: {stranger} {approval_id} {act}")

    async def on_step(self, stranger: Stranger, run_id: str, step: str, act: UnknownActorAct) -> None:
        raise AssertionError(f"nobody here is a stranger: {stranger} {run_id} {step} {act}")
