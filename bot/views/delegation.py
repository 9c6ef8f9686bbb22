"""Delegation: the modal in which a person says who votes for them, from when until when, and in which groups."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bot.views.blocks import Block, plain_text, section
from bot.views.text import Shown, short
from bot.views.vote_modals import reason_input
from receipts.canonical import digest

DELEGATION_MODAL = "countersign_delegate"
WHOM, SINCE, UNTIL, GROUPS = "whom", "since", "until", "groups"

_PER_BLOCK, _OPTION, _MOST = 10, 50, 100
_EXPLAINED = (
    "They see your requests and vote in your name; the card and the evidence say so. You may still vote yourself: only "
    "one of your two votes counts. Policy decides. Your reason is kept as evidence."
)


class DelegationRef(BaseModel):
    """The modal's private metadata: a digest of the groups as they were shown, and where to answer the person."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    shown: Annotated[str, Field(min_length=64, max_length=64)]
    channel: str | None


def delegation_modal(groups: Sequence[str], channel: str | None, now: datetime) -> dict[str, Any]:
    """Return the modal; all groups are chosen at first, and it begins now."""
    since = {"type": "datetimepicker", "action_id": SINCE, "initial_date_time": int(now.timestamp())}
    return {
        "type": "modal",
        "callback_id": DELEGATION_MODAL,
        "title": plain_text(Shown("While you are away")),
        "submit": plain_text(Shown("Delegate")),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": DelegationRef(shown=digest(list(groups)), channel=channel).model_dump_json(),
        "blocks": [
            section(Shown(_EXPLAINED)),
            _input(WHOM, "Who votes for you?", {"type": "users_select", "action_id": WHOM}),
            _input(SINCE, "From", since),
            _input(UNTIL, "Until", {"type": "datetimepicker", "action_id": UNTIL}),
            *_choices(groups),
            reason_input("Why?"),
        ],
    }


def _choices(groups: Sequence[str]) -> Iterator[Block]:
    """Yield the groups to be chosen from: so many in one block as Slack takes."""
    options = [{"text": plain_text(short(name, _OPTION, lines=1)), "value": str(at)} for at, name in enumerate(groups)][
        :_MOST
    ]
    for first in range(0, len(options), _PER_BLOCK):
        some = options[first : first + _PER_BLOCK]
        name = f"{GROUPS}{first}"
        element = {"type": "checkboxes", "action_id": name, "options": some, "initial_options": some}
        is_alone = len(options) <= _PER_BLOCK  # of several, one may stay empty
        yield {**_input(name, "In which of your groups?", element), "optional": not is_alone}


def _input(name: str, label: str, element: Block) -> Block:
    return {"type": "input", "block_id": name, "label": plain_text(Shown(label)), "element": element}
