"""Home state: the section that a Home shows, its filters and its page. The Home's private metadata carries it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.model.search import ListFilter, PageEdge
from runtime.services.home import Look

PREFIX = "countersign_home_"
RUNBOOK, TIER, GROUP = f"{PREFIX}runbook", f"{PREFIX}tier", f"{PREFIX}group"
SEARCH, CLEAR, SEVERAL = f"{PREFIX}search", f"{PREFIX}clear", f"{PREFIX}several"
METRICS = f"{PREFIX}metrics"
TURNS = (f"{PREFIX}back", f"{PREFIX}next")
ALL = "*"
"""The choice of a menu that narrows nothing."""

LONGEST_TEXT = 100


class Section(StrEnum):
    """What is looked through."""

    WAITING = "waiting"
    LATE = "late"
    MINE = "mine"
    DECIDED = "decided"


SECTIONS = {f"{PREFIX}{section}": section for section in Section}

Name = Annotated[str, Field(max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Corner(_Strict):
    """Where a page begins, or where it goes `back` ends: the keys of the entry beside it."""

    at: datetime
    id: Name
    back: bool


class HomeState(_Strict):
    """A Home's private metadata. "" narrows nothing; without a corner it is the first page."""

    section: Annotated[Section, Field(strict=False)] = Section.WAITING
    runbook: Name = ""
    tier: Name = ""
    group: Name = ""
    text: Annotated[str, Field(max_length=LONGEST_TEXT)] = ""
    corner: Corner | None = None

    @property
    def narrowed(self) -> ListFilter:
        """Return what the section is narrowed to."""
        given = self.model_dump(include={"runbook", "tier", "group", "text"})
        return ListFilter(**given, is_due_soon=self.section is Section.LATE)

    @property
    def is_narrowed(self) -> bool:
        """Tell whether the person has narrowed it."""
        return bool(self.runbook or self.tier or self.group or self.text)

    def look(self, limit: int) -> Look:
        """Return what is asked of the Home's queries."""
        corner = self.corner
        edge = None if corner is None else PageEdge(corner.at, corner.id, corner.back)
        return Look(limit, self.narrowed, edge)

    def turned(self, **changes: object) -> "HomeState":
        """Return another section, or the same narrowed otherwise, from its first page."""
        return self.model_copy(update={"corner": None, **changes})


def state_of(private_metadata: str) -> HomeState:
    """Return what a Home says that it shows; one of another release begins anew."""
    try:
        return HomeState.model_validate_json(private_metadata)
    except ValidationError:
        return HomeState()
