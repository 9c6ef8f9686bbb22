"""What the bot sees of the counter of figures."""

from typing import Protocol

from runtime.model.actor import Person
from runtime.model.figures import Figures


class FigureDesk(Protocol):
    """Figures for those who lead: members of groups that are next in line, and operators. Others get none."""

    async def looked(self, approval_id: str, person: Person) -> None:
        """Record that a person has opened a request's details or the form of a vote; the first time counts."""
        ...

    async def leads(self, person: Person) -> bool:
        """Return whether there are figures for the person."""
        ...

    async def figures(self, person: Person) -> Figures | None:
        """Return the figures of the last 30 days for whom the person leads; None for who leads nobody."""
        ...
