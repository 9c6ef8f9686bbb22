"""Taking back what a run did: how each effect of it stands, and by what the runs that undo are known."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

UNDO = "countersign.undo"
"""The trigger type of a run that takes back what another did; what begins with `countersign.` no pack may claim."""
UNDO_NAME, UNDO_KEY = "countersign-undo-", "undo:"
"""Before the run's id, the name of its definition; before a receipt's id, the key under which that is undone, once."""


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
