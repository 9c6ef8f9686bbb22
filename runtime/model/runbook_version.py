"""Runbook versions: where a version of a runbook stands in a tenant, and what may start."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runtime.model.states import DefinitionStatus


class Activation(StrEnum):
    """What comes active by itself when a start brings it; everything else is somebody's act.

    `first`: a runbook of which no version ever was more than a draft. `newest`: also what is newer than all versions
    known so far, unless the runbook is retired. `manual`: nothing.
    """

    FIRST = "first"
    NEWEST = "newest"
    MANUAL = "manual"


class NotActiveError(Exception):
    """Nothing new starts: no version is active, or not the one that was named. The message says how it stands."""


@dataclass(frozen=True)
class RunbookVersion:
    """A version in a tenant."""

    name: str
    version: int
    digest: str
    trigger_type: str
    status: DefinitionStatus
    when: str | None = None  # the condition under which it takes a trigger of its type; None where it takes each

    @property
    def is_active(self) -> bool:
        """Return whether new runs may start with it."""
        return self.status is DefinitionStatus.ACTIVE

    def __str__(self) -> str:
        """Return what people call it."""
        return f"{self.name} version {self.version}"


def version_to_start(lives: Sequence[RunbookVersion], version: int | None) -> RunbookVersion:
    """Return which of the versions that take a trigger starts: the newest active one, or the one that is named.

    Raise NotActiveError. There is at least one. Where those that are active are of several names, see `choose`.
    """
    active = [life for life in lives if life.is_active]
    wanted = [life for life in active if version in (None, life.version)]
    if wanted:
        return max(wanted, key=lambda life: life.version)
    of_name = [life for life in lives if not active or life.name == active[0].name]
    named = [life for life in of_name if life.version == version]
    if version is not None and not named:
        raise NotActiveError(f"{of_name[0].name} has no version {version}")
    newest = max(named or of_name, key=lambda life: life.version)
    raise NotActiveError(f"{newest} is not active but {newest.status}: nothing new starts with it")


def activates_by_itself(
    rule: Activation, newest: int, known: Sequence[RunbookVersion], arrived: Collection[int]
) -> bool:
    """Return whether a runbook's newest version in the files comes active at a start.

    `known` are all its versions in the tenant, drafts that have just come included; `arrived` are the numbers of those.
    """
    moved = [life for life in known if life.status is not DefinitionStatus.DRAFT]
    if rule is Activation.MANUAL:
        return False
    if not moved:
        return True
    is_new = newest in arrived and newest == max(life.version for life in known)
    return rule is Activation.NEWEST and is_new and any(life.is_active for life in moved)
