"""What people and callers want of a run."""

from typing import Any, Literal

from runtime.model.payload import PayloadModel
from runtime.model.run import HeldAct
from runtime.model.votes import RefusalCode


class CancelPayload(PayloadModel):
    """Somebody wants a run to stop. `version` is that of the run as they saw it, None where they did not look.

    `submitted_by` is the caller that brought it, "" where none did.
    """

    kind: Literal["cancel"] = "cancel"
    run_id: str
    reason: str
    version: int | None = None
    submitted_by: str = ""


class UndoPayload(PayloadModel):
    """Somebody wants what a run did to be taken back: all of it, or one step's. `version` as for a cancel.

    `submitted_by` is the caller that brought it, "" where nobody did but whoever wants it.
    """

    kind: Literal["undo"] = "undo"
    run_id: str
    step: str | None
    reason: str
    version: int | None
    submitted_by: str = ""


class RetryPayload(PayloadModel):
    """Somebody wants what a run has put off to be tried now: all of it, or one effect. `version` as for a cancel."""

    kind: Literal["retry"] = "retry"
    run_id: str
    effect_id: str | None
    reason: str
    version: int | None


class MendPayload(PayloadModel):
    """A person says how a held step goes on; `result` is what they supply. `version` as for a cancel.

    `submitted_by` is the caller that brought it, or the person.
    """

    kind: Literal["mend"] = "mend"
    run_id: str
    step: str
    act: HeldAct
    result: Any = None
    reason: str
    version: int | None
    submitted_by: str


StrangerAct = HeldAct | Literal["undo", "cancel", "edit", "break_glass"]
"""What the buttons of a step ask for."""


class StrangerPayload(PayloadModel):
    """Somebody who is no one person of the directory clicked a button of a step; `code` says why they are none."""

    kind: Literal["stranger"] = "stranger"
    run_id: str
    step: str
    act: StrangerAct
    code: RefusalCode


RunCommand = CancelPayload | UndoPayload | RetryPayload | MendPayload | StrangerPayload
