"""What a run did, as far as undoing it is concerned: its effects, and what people supplied instead of some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.definitions.model import Definition
from runtime.model.states import EffectStatus, StepStatus


@dataclass(frozen=True)
class Acted:
    """An effect of a run's step, with the receipt of its success where it has one, and what undoes that already.

    `is_last` says that the step, which may have been tried anew, has wanted nothing since.
    """

    step: str
    step_status: StepStatus
    connector: str
    operation: str
    target: str
    status: EffectStatus
    has_begun: bool
    receipt_id: str | None
    digest: str  # of the receipt; "" where there is none
    request: Any
    response: Any
    before: Any
    undone_in: str | None  # the run that undid it
    being_undone_in: str | None  # … or that is at it
    by_hand_in: str | None  # … or in which people said that they did it by hand
    is_last: bool

    @property
    def what(self) -> str:
        """Return connector and operation, joined by `::`."""
        return f"{self.connector}::{self.operation}"


@dataclass(frozen=True)
class Done:
    """The run whose effects are looked at."""

    run_id: str
    tenant: str
    definition: Definition
    effects: Sequence[Acted]  # in the order of their receipts
    supplied: Mapping[str, str] = field(default_factory=dict)  # steps whose result a person gave, with who did

    def context(self, acted: Acted) -> dict[str, Any]:
        """Return what the params of a compensation may refer to."""
        run = {"id": self.run_id, "tenant": self.tenant, "definition": self.definition.name}
        said = {"request": acted.request, "response": acted.response, "before": acted.before}
        return {**said, "run": run, "tenant": self.tenant}
