"""Step repair: the buttons beside a step that needs attention, and the modal that asks how it continues."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bot.views import references
from bot.views.blocks import Block, bold, button, plain_text, rows, section
from bot.views.text import Shown, one_line, render, short
from bot.views.vote_modals import REASON_MAX, REASON_MIN
from policy.bundle import strict_json
from runtime.model.limits import json_fault
from runtime.model.run import RepairAction
from runtime.services.step_repair import StepRepairView

MODAL = "countersign_step_repair"
RESULT = "result"
RESULT_MAX = 3000

_BUTTONS = {
    RepairAction.RETRY: "Retry",
    RepairAction.SUPPLY: "Supply result",
    RepairAction.SKIP: "Skip step",
    RepairAction.END: "End run",
}
ACTIONS = {f"countersign_repair_{act}": act for act in RepairAction}
_MEANS = {
    RepairAction.RETRY: "The step starts again. What is already done is not repeated.",
    RepairAction.SUPPLY: "The step succeeds with your result; the record names you.",
    RepairAction.SKIP: "The run continues without the step; steps that need it are skipped too.",
    RepairAction.END: "The run ends as failed. Nothing more is done.",
}

Word = Annotated[str, Field(min_length=1, max_length=1000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class StepRef(_Strict):
    """A button's value: which step."""

    run: Word
    step: Word


class StepRepairRef(StepRef):
    """The modal's private metadata: the act, the step's version as it was shown, and where to answer the person."""

    act: Annotated[RepairAction, Field(strict=False)]
    version: int
    channel: str | None


def repair_buttons(run_id: str, step: str) -> Block:
    """Return the four buttons."""
    value = StepRef(run=run_id, step=step).model_dump_json()
    elements = [button(action_id, _BUTTONS[act], value) for action_id, act in ACTIONS.items()]
    return {"type": "actions", "elements": elements}


def repair_modal(view: StepRepairView, act: RepairAction, channel: str | None) -> dict[str, Any]:
    """Return the modal that asks why, and where it is supplied for the result."""
    ref = StepRepairRef(run=view.run_id, step=view.step, act=act, version=view.version, channel=channel)
    facts = (("Run", view.run_title), ("Step", view.step), ("Error", view.error), ("Code", view.code))
    words = Shown(_BUTTONS[act])
    result = [_input(RESULT, "The result, as JSON", 1, RESULT_MAX)] if act is RepairAction.SUPPLY else []
    return {
        "type": "modal",
        "callback_id": MODAL,
        "title": plain_text(words),
        "submit": plain_text(words),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *rows([(bold(name), short(render(value), 300)) for name, value in facts if value]),
            section(Shown(f"{_MEANS[act]} Your reason is kept as evidence.")),
            *result,
            _input(references.REASON, "Why?", REASON_MIN, REASON_MAX),
        ],
    }


def repair_item(view: StepRepairView) -> list[Block]:
    """Return what a person's Home says of a step that needs attention, with the buttons."""
    why = f"{one_line(view.error.rstrip('.'))} ({view.code})" if view.code else one_line(view.error.rstrip("."))
    said = short(render(f"{view.step} of {one_line(view.run_title)} failed and needs attention: {why}"), 300)
    return [section(said), repair_buttons(view.run_id, view.step), {"type": "divider"}]


def _input(name: str, label: str, least: int, most: int) -> Block:
    element = {
        "type": "plain_text_input",
        "action_id": name,
        "multiline": True,
        "min_length": least,
        "max_length": most,
    }
    return {"type": "input", "block_id": name, "label": plain_text(Shown(label)), "element": element}


def parse_result(text: str) -> Any:
    """Return what somebody typed as JSON; raise ValueError where it is none, or could not be put on record."""
    result = strict_json(text)
    if wrong := json_fault(result):
        raise ValueError(wrong)
    return result
