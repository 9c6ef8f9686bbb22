"""What callers ask about evidence, and get."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from edge.messages import Message, Word
from evidence.export.index import PeriodError, day, end_of
from runtime.services.bundles import EvidenceState, FoundRun, Sought


def _must_be_day(text: str) -> str:
    try:
        end_of(day(text))
    except PeriodError as error:
        raise ValueError(str(error)) from error
    return text


Day = Annotated[str, AfterValidator(_must_be_day)]
State = Literal["open", "unsealed", "sealing", "stuck", "sealed"]
Outcome = Annotated[str, StringConstraints(max_length=200, pattern=r"^[a-z][a-z0-9_]*$")]


class EvidenceIn(Message):
    """What is sought; null leaves it wide. Days are whole, in UTC, and both are included.

    `reference` is text in the business reference, `person` the id or name of who asked or voted, `after` the run behind
    which the list goes on; `outcome` the word with which a run ended, its status where it has none.
    """

    model_config = ConfigDict(validate_by_name=False)

    reference: Word | None = None
    person: Word | None = None
    definition: Word | None = None
    outcome: Outcome | None = None
    states: list[State] = Field(default_factory=list)
    first_day: Day | None = Field(default=None, alias="from")
    last_day: Day | None = Field(default=None, alias="to")
    after: Word | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 50

    @model_validator(mode="after")
    def _in_order(self) -> "EvidenceIn":
        if self.first_day and self.last_day and self.first_day > self.last_day:
            raise ValueError(f"from: {self.first_day} is after {self.last_day}")
        return self

    def sought(self, trigger_types: Sequence[str]) -> Sought:
        """Return what is to be found, and one more than is shown."""
        return Sought(
            customer=self.reference,
            reference_only=True,
            person=self.person,
            definition=self.definition,
            outcome=self.outcome,
            states=[EvidenceState(state) for state in self.states],
            trigger_types=trigger_types,
            since=datetime.combine(date.fromisoformat(self.first_day), time(), UTC) if self.first_day else None,
            until=end_of(date.fromisoformat(self.last_day)) if self.last_day else None,
            after=self.after,
            limit=self.limit + 1,
        )


class EvidenceOut(Message):
    """A run with its evidence; `waits_for`, `tries`, `next_try_at` and `error` say why there is no bundle yet.

    `outcome` is the word with which its runbook ended it, "" for none.
    """

    run_id: str
    reference: str
    trigger_type: str
    definition: str
    definition_version: int
    status: str
    outcome: str
    state: EvidenceState
    requested_by: str
    created_at: datetime
    finished_at: datetime | None
    sha256: str | None
    size: int | None
    location: str | None
    stored_at: datetime | None
    waits_for: list[str]
    tries: int
    next_try_at: datetime | None
    error: str


class EvidencePage(Message):
    """What was found, the newest first; `after` is what to ask for the rest with, null where there is none."""

    runs: list[EvidenceOut]
    after: str | None

    @classmethod
    def of(cls, found: Sequence[FoundRun], limit: int) -> "EvidencePage":
        """Return the page of so many."""
        shown = [
            EvidenceOut(**{name: getattr(run, name) for name in EvidenceOut.model_fields}) for run in found[:limit]
        ]
        return cls(runs=shown, after=shown[-1].run_id if len(found) > limit else None)
