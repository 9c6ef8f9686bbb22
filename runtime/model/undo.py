"""Taking back what a run did: how each effect of it stands, and by what the runs that undo are known."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.model.steps import inside

UNDO = "countersign.undo"
"""The trigger type of a run that takes back what another did; what begins with `countersign.` no pack may claim."""
UNDO_NAME, UNDO_KEY = "countersign-undo-", "undo:"
"""Before the run's id, the name of its definition; before a receipt's id, the key under which that is undone, once."""
REST = "rest"
BY_HAND = inside(REST, "by_hand")
"""The step in which people answer, where anything could not be undone."""


def name_of(run_id: str) -> str:
    """Return the name of the definitions that undo a run; each undo has a version of its own."""
    return f"{UNDO_NAME}{run_id}"


def refs_of(run_id: str) -> str:
    """Return how the trigger refs of a run's undos begin; each ends with its number."""
    return f"undo:{run_id}:"


class Standing(StrEnum):
    """How an effect stands as to being undone. Only what is `possible` is asked for."""

    POSSIBLE = "possible"
    UNDONE = "undone"
    BEING_UNDONE = "being_undone"
    IRREVERSIBLE = "irreversible"
    NOT_KNOWN = "not_known"
    ELSEWHERE = "elsewhere"
    IN_DOUBT = "in_doubt"
    UNDER_WAY = "under_way"
    NOT_PERFORMED = "not_performed"
    SUPPLIED = "supplied"


@dataclass(frozen=True)
class Item:
    """One effect, how it stands as to being undone, and why. `by` is the name of the verb that would, with `params`.

    What a person supplied before anything was wanted has no target.
    """

    step: str
    what: str  # connector and operation, joined by `::`
    target: str
    standing: Standing
    why: str
    receipt_id: str | None = None
    digest: str = ""
    by: str = ""
    params: Mapping[str, Any] | None = None

    @property
    def is_possible(self) -> bool:
        """Return whether it can be undone now."""
        return self.standing is Standing.POSSIBLE
